// SPDX-License-Identifier: Apache-2.0
//
// As much of a broker as devices need that say one thing each: lets them in, and acknowledges what
// they publish. One at a time, each until the next comes; what it has said it keeps no memory of.
use std::io::{Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

const CONNECT: u8 = 1;
const PUBLISH: u8 = 3;

/// The port.
pub fn start() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("to bind");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        let mut sockets = Vec::with_capacity(1 << 12);
        for socket in listener.incoming() {
            let mut socket = socket.expect("a device");
            answer(&mut socket, CONNECT, |_| [0x20, 2, 0, 0]).expect("a connection");
            answer(&mut socket, PUBLISH, acknowledged).expect("a message");
            sockets.push(socket);
        }
    });
    port
}

// With the message's id, which is behind its topic.
fn acknowledged(body: &[u8]) -> [u8; 4] {
    let id = 2 + usize::from(u16::from_be_bytes([body[0], body[1]]));
    [0x40, 2, body[id], body[id + 1]]
}

fn answer(socket: &mut TcpStream, kind: u8, say: impl Fn(&[u8]) -> [u8; 4]) -> Result<()> {
    let mut head = [0; 2];
    let mut body = [0; 127];
    socket.read_exact(&mut head)?;
    assert!(head[0] >> 4 == kind && head[1] < 128, "another packet: {head:?}");
    let body = &mut body[..usize::from(head[1])];
    socket.read_exact(body)?;
    socket.write_all(&say(body))
}
