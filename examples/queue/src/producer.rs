// SPDX-License-Identifier: Apache-2.0
//
// The service's client: a request waits for its answer.
use std::io::Result;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub struct Message {
    pub payload: Vec<u8>,
}

pub struct Producer {
    socket: TcpStream,
    encoded: Vec<u8>,
}

impl Producer {
    pub async fn connect(endpoint: SocketAddr) -> Result<Self> {
        let mut socket = TcpStream::connect(endpoint).await?;
        socket.set_nodelay(true)?;
        socket.read_u8().await?;
        Ok(Self { socket, encoded: Vec::new() })
    }

    pub async fn produce(&mut self, message: &Message) -> Result<()> {
        self.produce_batch(std::slice::from_ref(message)).await
    }

    pub async fn produce_batch(&mut self, messages: &[Message]) -> Result<()> {
        self.encoded.clear();
        self.encoded.extend((messages.len() as u32).to_be_bytes());
        for message in messages {
            self.encoded.extend((message.payload.len() as u32).to_be_bytes());
            self.encoded.extend_from_slice(&message.payload);
        }
        self.socket.write_all(&self.encoded).await?;
        self.socket.read_u8().await?;
        Ok(())
    }
}
