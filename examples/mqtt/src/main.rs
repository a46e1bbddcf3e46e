// SPDX-License-Identifier: Apache-2.0
//
// A service that speaks for devices: each has its connection to the broker, says one thing over it
// and stays connected; or all of them lose their connections, as when the broker goes away.
//
//   devices NUMBER [lose]
mod broker;

use rumqttc::{AsyncClient, Event, EventLoop, MqttOptions, Packet, QoS};
use std::time::Duration;

struct Device {
    _client: AsyncClient,
    connection: EventLoop,
}

async fn connect_device(id: usize, port: u16) -> Device {
    let options = MqttOptions::new(format!("device-{id}"), "127.0.0.1", port);
    let (client, mut connection) = AsyncClient::new(options, 10);
    client.publish("state", QoS::AtLeastOnce, false, *b"on").await.expect("room for a message");
    let acknowledged = |event: Event| matches!(event, Event::Incoming(Packet::PubAck(_)));
    while !acknowledged(connection.poll().await.expect("the broker")) {}
    Device { _client: client, connection }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let n: usize = std::env::args().nth(1).and_then(|word| word.parse().ok()).expect("a number");
    let port = broker::start();
    let mut devices = Vec::with_capacity(n);
    for id in 0..n {
        devices.push(connect_device(id, port).await);
    }
    println!("{} devices connected", devices.len());
    if std::env::args().nth(2).is_some() {
        devices.iter_mut().for_each(|device| device.connection.clean());
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
}
