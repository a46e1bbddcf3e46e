// SPDX-License-Identifier: Apache-2.0
//
// Enough of the Rust library to make a thousand calls at all depths of inlining.
use std::collections::HashMap;

#[derive(Debug)]
enum Shape {
    Circle(f64),
    Named(String),
}

impl Shape {
    fn area(&self) -> f64 {
        match self {
            Shape::Circle(radius) => radius * radius * 3.14,
            Shape::Named(name) => name.len() as f64,
        }
    }
}

fn build(n: usize) -> HashMap<String, Vec<Shape>> {
    let mut shapes: HashMap<String, Vec<Shape>> = HashMap::new();
    for i in 0..n {
        let shape = if i % 2 == 0 { Shape::Circle(i as f64) } else { Shape::Named(i.to_string()) };
        shapes.entry(format!("k{}", i % 17)).or_default().push(shape);
    }
    shapes
}

fn main() {
    let shapes = build(std::env::args().count() * 1000);
    let mut areas: Vec<_> =
        shapes.iter().map(|(k, s)| (k.clone(), s.iter().map(|x| x.area()).sum::<f64>())).collect();
    areas.sort_by(|a, b| a.1.partial_cmp(&b.1).unwrap());
    println!("{:?} {:?}", areas, shapes.get("k1").map(|x| &x[0]));
}
