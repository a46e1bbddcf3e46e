// SPDX-License-Identifier: Apache-2.0
//
// What messages are sent to: takes 200 ms to let a client in, and 1 ms for each request, of however
// many messages. A request is their number and their bytes, each length before; the answer a byte.
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

const LOGIN: Duration = Duration::from_millis(200);
const COMMIT: Duration = Duration::from_millis(1);

pub fn start() -> (SocketAddr, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("to bind");
    let endpoint = listener.local_addr().expect("an address");
    let service = thread::spawn(move || {
        let (socket, _) = listener.accept().expect("a client");
        thread::sleep(LOGIN);
        serve(socket).expect("a client that says goodbye");
    });
    (endpoint, service)
}

fn serve(mut socket: TcpStream) -> std::io::Result<()> {
    socket.write_all(b"+")?;
    let mut requests = BufReader::new(socket.try_clone()?);
    let mut text = [0; 1024];
    while let Some(n_messages) = number(&mut requests)? {
        for _ in 0..n_messages {
            let length = number(&mut requests)?.unwrap_or(0) as usize;
            requests.read_exact(&mut text[..length])?;
        }
        thread::sleep(COMMIT);
        socket.write_all(b"+")?;
    }
    Ok(())
}

// None at the end.
fn number(from: &mut impl Read) -> std::io::Result<Option<u32>> {
    let mut bytes = [0; 4];
    match from.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(u32::from_be_bytes(bytes))),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}
