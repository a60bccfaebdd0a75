//! A document as its author wrote it: the JSON tree, with accessors, Draco primitives and images decoded on request.
//!
//! For programs that write glTF again: a [`Scene`](kiln_ir::Scene) has no place for node hierarchies of other engines,
//! `extras` and unknown extensions, the tree has. The same checks as in an import apply to all data that is decoded.

use kiln_diagnostics::{Code, Diag, RelPath, SourceFiles};
use kiln_ir::ImageSource;

use super::accessor::Accessor;
use super::buffers::Buffers;
use super::document::Document;
use super::draco::Draco;
use super::json::{self, Json};
use super::value::Value;
use super::{glb, images};

/// A document with its buffers, which are loaded on first use.
pub struct SourceDocument<'b, 'a> {
    document: &'b Document<'a>,
    buffers: &'b Buffers<'a>,
    binary: Option<&'a [u8]>,
}

/// The elements of an accessor: decompressed, sparse elements replaced, without padding between elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessorData {
    /// The component type as in a document, such as 5126.
    pub component_type: u32,
    /// The element type, such as `VEC3`.
    pub kind: String,
    /// The number of components of an element.
    pub components: usize,
    /// True if integers stand for numbers from 0 or -1 to 1.
    pub normalized: bool,
    /// The number of elements.
    pub count: usize,
    /// The elements, little-endian.
    pub bytes: Vec<u8>,
}

/// A primitive that was compressed with Draco.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DracoPrimitive {
    /// The vertex indices of a triangle list.
    pub indices: Vec<u32>,
    /// The attributes in the Draco data by name, with the types that their accessors state.
    pub attributes: Vec<(String, AccessorData)>,
}

/// Opens a file and calls `read` with its document.
///
/// # Errors
/// The errors of [`import`](super::import) about the container, the JSON and the version, and those of `read`.
pub fn with_document<T>(
    files: &mut dyn SourceFiles,
    source: &RelPath,
    read: impl FnOnce(&SourceDocument<'_, '_>) -> Result<T, Diag>,
) -> Result<T, Diag> {
    crate::open(files, source, |bytes, files| {
        let container = glb::open(bytes)?;
        let json = json::parse(container.json)?;
        let document = Document::new(&json)?;
        let buffers = Buffers::new(&document, container.binary, files)?;
        read(&SourceDocument { document: &document, buffers: &buffers, binary: container.binary })
    })
}

impl<'a> SourceDocument<'_, 'a> {
    /// Returns the JSON tree.
    pub fn json(&self) -> &'a Json<'a> {
        self.document.root.json()
    }

    /// Returns the binary chunk of a `.glb`.
    pub fn binary(&self) -> Option<&'a [u8]> {
        self.binary
    }

    /// Decodes an accessor.
    ///
    /// # Errors
    /// `gltf-reference` if there is no such accessor, and the errors of reading it.
    pub fn accessor(&self, index: usize) -> Result<AccessorData, Diag> {
        let at = self.item(self.document.accessors.get(index), "accessors", index)?;
        let accessor = Accessor::at(at, self.buffers)?;
        Ok(AccessorData {
            component_type: accessor.component.code(),
            kind: accessor.kind().to_owned(),
            components: accessor.components(),
            normalized: accessor.is_normalized(),
            count: accessor.count(),
            bytes: accessor.packed()?,
        })
    }

    /// Decodes a primitive with `KHR_draco_mesh_compression`; `None` for any other.
    ///
    /// # Errors
    /// `gltf-reference` if there is no such primitive, and the errors of decompressing it.
    pub fn draco(&self, mesh: usize, primitive: usize) -> Result<Option<DracoPrimitive>, Diag> {
        let at = self.item(self.document.meshes.get(mesh), "meshes", mesh)?;
        let at = self.item(at.list("primitives")?.get(primitive), "primitives", primitive)?;
        let Some(extension) = at.extension("KHR_draco_mesh_compression") else { return Ok(None) };
        let data = self.buffers.view(extension.required("bufferView")?)?.bytes;
        let draco = Draco::decode(extension, data, self.buffers.left())?;
        self.buffers.charge(draco.triangles().saturating_mul(size_of::<[u32; 3]>()), at)?;
        let indices = draco.indices();
        if indices.iter().any(|&index| index as usize >= draco.count()) {
            return Err(extension.error(Code::GltfIndex, "an index of the Draco data is out of range"));
        }
        let stated = at.required("attributes")?.object()?;
        let mut attributes = Vec::new();
        for name in draco.names() {
            let (_, accessor) = stated.required(name)?.resolve(self.document.accessors, "accessor")?;
            let accessor = Accessor::at(accessor, self.buffers)?;
            let (components, component) = (accessor.components(), accessor.component);
            let size = draco.count().saturating_mul(components).saturating_mul(4);
            self.buffers.charge(size, extension)?;
            let (values, _) = draco.values(name, components)?;
            let bytes = values.iter().flat_map(|&value| {
                let bytes = match component.code() {
                    5120 => (value as i8 as u8 as u32).to_le_bytes(),
                    5122 => (value as i16 as u16 as u32).to_le_bytes(),
                    5126 => value.to_le_bytes(),
                    _ => (value as u32).to_le_bytes(),
                };
                bytes.into_iter().take(component.size())
            });
            let data = AccessorData {
                component_type: component.code(),
                kind: accessor.kind().to_owned(),
                components,
                normalized: accessor.is_normalized(),
                count: draco.count(),
                bytes: bytes.collect(),
            };
            attributes.push((name.to_owned(), data));
        }
        Ok(Some(DracoPrimitive { indices, attributes }))
    }

    /// Reads an image, not decoded.
    ///
    /// # Errors
    /// `gltf-reference` if there is no such image, and the errors of reading it.
    pub fn image(&self, index: usize) -> Result<ImageSource, Diag> {
        let at = self.item(self.document.images.get(index), "images", index)?;
        let name = at.string_or_empty("name")?.to_owned();
        Ok(ImageSource { name, ..images::image(at, self.buffers)? })
    }

    fn item(&self, item: Option<Value<'a>>, list: &str, index: usize) -> Result<Value<'a>, Diag> {
        item.ok_or_else(|| Diag::new(Code::GltfReference, format!("{list} has no element {index}")))
    }
}
