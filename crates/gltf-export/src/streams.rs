//! Accessors, buffer views and the buffer of the result.
//!
//! Elements of one use and format share a buffer view, so that a document with many meshes has few views; equal data
//! is stored once. With compression, a view whose compressed form is smaller becomes one of `EXT_meshopt_compression`
//! without a fallback.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};

use crate::attribute::{Elements, Filter, UNSIGNED_INT, UNSIGNED_SHORT};
use crate::tree::{self, Json, number, object, string};
use kiln_mesh::VertexCodec;

const ARRAY_BUFFER: usize = 34962;
const ELEMENT_ARRAY_BUFFER: usize = 34963;

/// The number of bytes that the JSON of a compressed view is longer than that of any other.
const EXTENSION_BYTES: usize = 128;

/// The use of elements, which decides the members of their buffer view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Usage {
    /// Indices of a triangle list.
    Triangles,
    /// Indices of points and lines.
    Indices,
    /// Vertex attributes.
    Vertices,
    /// Matrices, animations, instances.
    Other,
}

/// The key of a buffer view.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    usage: Usage,
    /// The attribute or another name: similar data compresses best together.
    class: String,
    stride: usize,
    filter: Filter,
}

#[derive(Default)]
struct View {
    bytes: Vec<u8>,
    /// The ranges of equal content by their hash.
    known: HashMap<u64, Vec<(usize, usize)>>,
}

/// The binary data of a document under construction.
#[derive(Default)]
pub(crate) struct Streams {
    views: BTreeMap<Key, View>,
    accessors: Vec<(Key, Json)>,
    known: HashMap<(String, String), usize>,
    blobs: Vec<Vec<u8>>,
}

/// The finished binary data.
pub(crate) struct Finished {
    pub(crate) buffer: Vec<u8>,
    pub(crate) buffers: Vec<Json>,
    pub(crate) views: Vec<Json>,
    pub(crate) accessors: Vec<Json>,
    pub(crate) compressed: bool,
}

impl Streams {
    /// Adds elements; returns their accessor. `bounds` adds `min` and `max`.
    pub(crate) fn elements(&mut self, usage: Usage, class: &str, elements: &Elements, bounds: bool) -> usize {
        let class = class.split_once('_').map_or(class, |(base, _)| base).to_owned();
        let key = Key { usage, class, stride: elements.stride, filter: elements.filter };
        let offset = self.views.entry(key.clone()).or_default().add(&elements.bytes);
        let mut accessor = object([
            ("bufferView", Json::Null),
            ("byteOffset", number(offset)),
            ("componentType", number(elements.component_type as usize)),
            ("count", number(elements.count())),
            ("type", string(&elements.kind)),
        ]);
        if offset == 0 {
            tree::remove(&mut accessor, "byteOffset");
        }
        if elements.normalized {
            tree::set(&mut accessor, "normalized", Json::Bool(true));
        }
        if bounds && elements.count() > 0 {
            let [least, most] =
                elements.bounds().map(|all| Json::Array(all.into_iter().map(Json::Number).collect()));
            tree::set(&mut accessor, "min", least);
            tree::set(&mut accessor, "max", most);
        }
        self.accessor(key, accessor)
    }

    /// Adds indices; returns their accessor. The largest value of an index type is not used.
    pub(crate) fn indices(&mut self, usage: Usage, indices: &[u32]) -> usize {
        let most = indices.iter().copied().max().unwrap_or(0);
        let (component_type, stride) = if most < 65535 { (UNSIGNED_SHORT, 2) } else { (UNSIGNED_INT, 4) };
        let bytes: Vec<u8> =
            indices.iter().flat_map(|index| index.to_le_bytes().into_iter().take(stride)).collect();
        let key = Key { usage, class: String::new(), stride, filter: Filter::None };
        let offset = self.views.entry(key.clone()).or_default().add(&bytes);
        let mut accessor = object([
            ("bufferView", Json::Null),
            ("byteOffset", number(offset)),
            ("componentType", number(component_type as usize)),
            ("count", number(indices.len())),
            ("type", string("SCALAR")),
        ]);
        if offset == 0 {
            tree::remove(&mut accessor, "byteOffset");
        }
        self.accessor(key, accessor)
    }

    /// Adds the bytes of an image; returns their buffer view.
    pub(crate) fn blob(&mut self, bytes: Vec<u8>) -> usize {
        match self.blobs.iter().position(|known| *known == bytes) {
            Some(known) => known,
            None => {
                self.blobs.push(bytes);
                self.blobs.len() - 1
            }
        }
    }

    fn accessor(&mut self, key: Key, accessor: Json) -> usize {
        let fresh = self.accessors.len();
        let known = *self.known.entry((format!("{key:?}"), tree::text(&accessor))).or_insert(fresh);
        if known == fresh {
            self.accessors.push((key, accessor));
        }
        known
    }

    /// Lays out the buffer.
    pub(crate) fn finish(self, compress: bool) -> Finished {
        let (mut buffer, mut views, mut fallback) = (Vec::new(), Vec::new(), 0);
        let append = |buffer: &mut Vec<u8>, bytes: &[u8]| {
            buffer.resize(buffer.len().next_multiple_of(4), 0);
            let offset = buffer.len();
            buffer.extend_from_slice(bytes);
            object([
                ("buffer", number(0)),
                ("byteOffset", number(offset)),
                ("byteLength", number(bytes.len())),
            ])
        };
        for blob in &self.blobs {
            views.push(append(&mut buffer, blob));
        }
        let mut numbers = BTreeMap::new();
        for (key, View { bytes, .. }) in &self.views {
            numbers.insert(key, views.len());
            let encoded = compress.then(|| key.encode(bytes)).flatten();
            let encoded = encoded.filter(|encoded| encoded.len() + EXTENSION_BYTES < bytes.len());
            let mut view = match &encoded {
                // A filter has to be undone, so filtered elements are compressed whatever their size.
                None if key.filter == Filter::None => append(&mut buffer, bytes),
                _ => {
                    let encoded = encoded.or_else(|| key.encode(bytes)).unwrap_or_default();
                    let mut extension = append(&mut buffer, &encoded);
                    let mode = match key.usage {
                        Usage::Triangles => "TRIANGLES",
                        Usage::Indices => "INDICES",
                        Usage::Vertices | Usage::Other => "ATTRIBUTES",
                    };
                    tree::set(&mut extension, "byteStride", number(key.stride));
                    tree::set(&mut extension, "mode", string(mode));
                    if key.filter == Filter::Octahedral {
                        tree::set(&mut extension, "filter", string("OCTAHEDRAL"));
                    }
                    tree::set(&mut extension, "count", number(bytes.len() / key.stride));
                    let mut view = object([
                        ("buffer", number(1)),
                        ("byteOffset", number(fallback)),
                        ("byteLength", number(bytes.len())),
                    ]);
                    fallback = (fallback + bytes.len()).next_multiple_of(4);
                    tree::set_extension(&mut view, EXTENSION, extension);
                    view
                }
            };
            match key.usage {
                Usage::Vertices => {
                    tree::set(&mut view, "byteStride", number(key.stride));
                    tree::set(&mut view, "target", number(ARRAY_BUFFER));
                }
                Usage::Triangles | Usage::Indices => {
                    tree::set(&mut view, "target", number(ELEMENT_ARRAY_BUFFER))
                }
                Usage::Other => {}
            }
            views.push(view);
        }
        let accessors = self.accessors.into_iter().map(|(key, mut accessor)| {
            tree::set(&mut accessor, "bufferView", number(numbers.get(&key).copied().unwrap_or_default()));
            accessor
        });
        let accessors = accessors.collect();
        buffer.resize(buffer.len().next_multiple_of(4), 0);
        let mut buffers = Vec::new();
        if !buffer.is_empty() {
            buffers.push(object([("byteLength", number(buffer.len()))]));
        }
        if fallback > 0 {
            let mut empty = object([("byteLength", number(fallback))]);
            tree::set_extension(&mut empty, EXTENSION, object([("fallback", Json::Bool(true))]));
            buffers.push(empty);
        }
        Finished { buffer, buffers, views, accessors, compressed: fallback > 0 }
    }
}

/// The extension of compressed buffer views.
pub(crate) const EXTENSION: &str = "EXT_meshopt_compression";

impl View {
    /// Appends bytes unless they are part of the view already; returns their offset.
    fn add(&mut self, bytes: &[u8]) -> usize {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let ranges = self.known.entry(hasher.finish()).or_default();
        let is_equal =
            |(offset, length): &&(usize, usize)| self.bytes.get(*offset..offset + length) == Some(bytes);
        if let Some((offset, _)) = ranges.iter().find(is_equal) {
            return *offset;
        }
        let offset = self.bytes.len();
        ranges.push((offset, bytes.len()));
        self.bytes.extend_from_slice(bytes);
        offset
    }
}

impl Key {
    /// Compresses the bytes of a view; `None` if the extension does not permit the stride.
    fn encode(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let indices = || -> Vec<u32> {
            let word = |index: &[u8]| index.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
            bytes.chunks_exact(self.stride).map(word).collect()
        };
        match self.usage {
            Usage::Triangles => kiln_mesh::encode_triangles(&indices()),
            Usage::Indices => kiln_mesh::encode_indices(&indices()),
            // The extension is defined for version 0 of the vertex codec.
            Usage::Vertices | Usage::Other => kiln_mesh::encode_vertices(bytes, self.stride, VertexCodec::V0),
        }
    }
}
