// SPDX-License-Identifier: Apache-2.0
//
// Reads a table into memory, every field a String of its own. Says where things are and waits for
// a byte or the end of its input, so that it can be looked at meanwhile.
//
//   reader FILE
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

struct DataSheet {
    headers: Vec<String>,
    rows: Vec<DataRecord>,
}

struct DataRecord {
    fields: Vec<String>,
}

fn split_str(line: String) -> Vec<String> {
    line.split(',').map(str::to_string).collect()
}

fn read_line(line: std::io::Result<String>) -> DataRecord {
    DataRecord { fields: split_str(line.unwrap()) }
}

fn read_sheet(path: &str) -> Result<DataSheet, Box<dyn Error>> {
    let mut lines = BufReader::new(File::open(path)?).lines();
    let headers = split_str(lines.next().ok_or("empty header")??);
    let rows = lines.map(read_line).collect();
    Ok(DataSheet { headers, rows })
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("no file given")?;
    let sheet = read_sheet(&path)?;
    let last = sheet.rows.last().ok_or("no rows")?;
    println!(
        "{} columns, {} rows in a vector of {}, {} fields in the last",
        sheet.headers.len(),
        sheet.rows.len(),
        sheet.rows.capacity(),
        last.fields.len(),
    );
    File::open("/dev/stdin")?.read(&mut [0])?;
    Ok(())
}
