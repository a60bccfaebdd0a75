//! Parses and forges cache records, as an attacker could who can write to a shared cache and knows the format. Written from
//! the documentation of the format, without code of the cache.

use kiln_engine::remote::Blob;
use kiln_engine::wire::{Reader, Writer};
use kiln_engine::{Hash, RelPath};
use std::collections::HashMap;

/// A diagnostic in a record: code, path, position, message and hint.
pub(crate) type Warning = [String; 5];

/// A build result in a record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Result {
    /// Each artifact: name, content and metadata.
    pub(crate) outputs: Vec<(String, Blob, Vec<u8>)>,
    pub(crate) warnings: Vec<Warning>,
    took_ms: u64,
}

/// All objects on a server, by path.
pub(crate) type Stock = HashMap<String, Vec<u8>>;

/// Returns the body of a record: the fifth field of an `ActionResult`, after a hash.
fn body(message: &[u8]) -> Option<&[u8]> {
    let (mut rest, mut found) = (message, None);
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        let len = varint(&mut rest)? as usize;
        let (field, after) = rest.split_at_checked(len)?;
        rest = after;
        if tag == 5 << 3 | 2 {
            found = Some(field);
        }
    }
    found?.get(32..)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Creates a record with a valid checksum and without a signature.
fn sealed(key: Hash, body: &[u8]) -> Vec<u8> {
    let sum = Hash::of_fields([b"kiln store 4".as_slice(), &key.0, body]);
    let mut message = vec![5 << 3 | 2];
    let mut len = sum.0.len() + body.len();
    while len >= 0x80 {
        message.push(len as u8 | 0x80);
        len >>= 7;
    }
    message.push(len as u8);
    [message.as_slice(), &sum.0, body].concat()
}

impl Result {
    fn read(body: &[u8]) -> Option<Result> {
        let mut r = Reader::new(body);
        let count = r.count()?;
        let mut result = Result::default();
        for _ in 0..count {
            let path = RelPath::new(r.text()?).ok()?.to_string();
            let metadata = r.bytes()?.to_vec();
            result.outputs.push((path, Blob { hash: Hash(r.array()?), len: r.u64()? }, metadata));
        }
        let count = r.count()?;
        for _ in 0..count {
            let mut text = || r.text().map(str::to_owned);
            result.warnings.push([text()?, text()?, text()?, text()?, text()?]);
        }
        result.took_ms = r.u64()?;
        (r.is_empty() && !result.outputs.is_empty()).then_some(result)
    }

    fn write(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.count(self.outputs.len());
        for (path, blob, metadata) in &self.outputs {
            w.text(path);
            w.bytes(metadata);
            w.raw(&blob.hash.0);
            w.u64(blob.len);
        }
        w.count(self.warnings.len());
        for texts in &self.warnings {
            texts.iter().for_each(|text| w.text(text));
        }
        w.u64(self.took_ms);
        w.finish()
    }
}

fn key_of(path: &str) -> Hash {
    Hash::parse(path.rsplit('/').next().unwrap()).unwrap()
}

/// Returns the results on a server, sorted by path.
pub(crate) fn results(stock: &Stock) -> Vec<(String, Result)> {
    let records = stock.iter().filter(|(path, _)| path.contains("/ac/"));
    let mut results: Vec<_> =
        records.filter_map(|(path, bytes)| Some((path.clone(), Result::read(body(bytes)?)?))).collect();
    results.sort_by(|a, b| a.0.cmp(&b.0));
    results
}

/// Adds a blob to a server.
pub(crate) fn put_blob(stock: &mut Stock, bytes: &[u8]) -> Blob {
    let blob = Blob::of(bytes);
    stock.insert(format!("/team/cas/{}", blob.hash), bytes.to_vec());
    blob
}

/// Returns the bytes of a blob.
pub(crate) fn blob<'s>(stock: &'s Stock, blob: &Blob) -> &'s [u8] {
    &stock[&format!("/team/cas/{}", blob.hash)]
}

/// Changes the result whose first output is `output`; `change` may put blobs on the server.
pub(crate) fn forge(stock: &mut Stock, output: &str, change: impl FnOnce(&mut Stock, &mut Result)) {
    let first = |result: &Result| result.outputs.first().map(|(path, ..)| path.as_str()) == Some(output);
    let found = results(stock).into_iter().find(|(_, result)| first(result));
    let (path, mut result) = found.unwrap_or_else(|| panic!("no result writes {output} first"));
    change(stock, &mut result);
    stock.insert(path.clone(), sealed(key_of(&path), &result.write()));
}

/// Changes every result whose first output has this name; returns their number.
pub(crate) fn forge_all(stock: &mut Stock, output: &str, change: impl Fn(&mut Stock, &mut Result)) -> usize {
    let all: Vec<_> =
        results(stock).into_iter().filter(|(_, result)| result.outputs[0].0 == output).collect();
    for (path, mut result) in all.clone() {
        change(stock, &mut result);
        stock.insert(path.clone(), sealed(key_of(&path), &result.write()));
    }
    all.len()
}

/// Removes the signatures of all records, or replaces them.
pub(crate) fn unsigned(stock: &Stock, signature: Option<[u8; 32]>) -> Stock {
    let mut stock = stock.clone();
    for (path, bytes) in stock.iter_mut().filter(|(path, _)| path.contains("/ac/")) {
        let mut record = sealed(key_of(path), body(bytes).unwrap());
        if let Some(signature) = signature {
            record.extend([7 << 3 | 2, 32]);
            record.extend(signature);
        }
        *bytes = record;
    }
    stock
}
