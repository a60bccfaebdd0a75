//! Parsing of the `[scene]` table: references, geometries, tags and user data.
//!
//! Rejects vertex indices out of range, coordinate lists whose length is not a multiple of 3, and datetimes as user data.

use super::super::compression::Compression;
use super::super::toml_document::{Fields, Value};
use super::mesh::{MeshSpec, rotation};
use super::{NodeId, Planner, Recipe, part};
use kiln_engine::{Code, Diag, RelPath};
use kiln_format::pak::Kind;
use kiln_format::pak::scene::{Geometry, Reference, Value as Data};
use toml::de::DeValue;

/// A scene, whose meshes and materials are indices into `refs`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SceneSpec {
    pub(crate) references: Vec<Reference>,
    pub(crate) geometries: Vec<Geometry>,
    pub(crate) refs: Vec<NodeId>,
}

impl Planner<'_, '_> {
    pub(super) fn scene(
        &mut self,
        path: &RelPath,
        fields: Fields<'_>,
        compression: Compression,
    ) -> Result<NodeId, Diag> {
        let mut spec = SceneSpec { references: vec![], geometries: vec![], refs: vec![] };
        let mut known = std::collections::HashMap::new();
        let mut number = |node: NodeId, refs: &mut Vec<NodeId>| {
            *known.entry(node).or_insert_with(|| {
                refs.push(node);
                refs.len() as u32 - 1
            })
        };
        for value in fields.read("ref", |value| value.list())?.unwrap_or_default() {
            let own = value.fields()?;
            let place = placed(&own)?;
            let mesh = match own.get("mesh") {
                None => None,
                Some(value) if value.is_table() => {
                    Some(self.mesh(&part(path, value.name()), value.fields()?, compression)?)
                }
                Some(value) => Some(self.asset(&value, Kind::Mesh, compression)?),
            };
            let spec_of_mesh = mesh.and_then(|node| match &self.plan.nodes[node.0].recipe {
                Recipe::Mesh(spec, _) => Some(spec.clone()),
                _ => None,
            });
            let mut materials = Vec::new();
            for value in own.read("materials", |value| value.list())?.unwrap_or_default() {
                materials.extend(self.materials(path, &value, spec_of_mesh.as_ref(), compression)?);
            }
            if let (Some(mesh), false) = (&spec_of_mesh, materials.is_empty()) {
                self.fill_slots(&own, mesh, &mut materials)?;
            }
            let materials = materials.into_iter().map(|node| number(node, &mut spec.refs)).collect();
            let mesh = mesh.map(|node| number(node, &mut spec.refs));
            let Placed { id, tags, data, rotation, translation, scale } = place;
            spec.references.push(Reference { id, mesh, materials, tags, data, rotation, translation, scale });
            own.finish();
        }
        for value in fields.read("geometry", |value| value.list())?.unwrap_or_default() {
            let own = value.fields()?;
            let Placed { id, tags, data, rotation, translation, scale } = placed(&own)?;
            let (coordinates, indices) = geometry(&value, &own)?;
            spec.geometries.push(Geometry {
                id,
                coordinates,
                indices,
                tags,
                data,
                rotation,
                translation,
                scale,
            });
            own.finish();
        }
        fields.finish();
        let lines = format!("{spec:?}\n");
        Ok(self.node(path, Kind::Scene, Recipe::Scene(spec), compression, &lines))
    }

    /// Gives the slots of a mesh for which a reference lists no material the default material, with a warning.
    fn fill_slots(
        &mut self,
        reference: &Fields<'_>,
        mesh: &MeshSpec,
        materials: &mut Vec<NodeId>,
    ) -> Result<(), Diag> {
        let slots = self.slots(mesh)?.len();
        let (listed, Some(value)) = (materials.len(), reference.get("materials")) else { return Ok(()) };
        if listed < slots {
            let message = format!(
                "{} has {slots} material slots, and {listed} {} listed; the others have the default material",
                mesh.src,
                if listed == 1 { "material is" } else { "materials are" }
            );
            let hint =
                format!("list {slots} materials, or {:?} for those of the file", format!("/{}", mesh.src));
            self.plan.warnings.push(value.error(Code::PakMaterials, message).hint(hint));
            let default = self.default_material(&part(&mesh.src, "default"));
            materials.resize(slots, default);
        }
        Ok(())
    }
}

fn geometry(value: &Value<'_>, fields: &Fields<'_>) -> Result<(Vec<f32>, Vec<u32>), Diag> {
    let (Some(vertices), Some(indices)) = (fields.get("vertices"), fields.get("indices")) else {
        return Err(value.error(Code::PakValue, "a geometry needs both vertices and indices"));
    };
    let coordinates = vertices.floats()?;
    if !coordinates.len().is_multiple_of(3) {
        let message = format!("the number of coordinates is {}, expected a multiple of 3", coordinates.len());
        return Err(vertices.error(Code::PakValue, message));
    }
    let count = (coordinates.len() / 3) as u32;
    let list = indices.list()?;
    if list.is_empty() || !list.len().is_multiple_of(3) {
        return Err(indices.error(
            Code::PakValue,
            format_args!("the number of indices is {}, expected a positive multiple of 3", list.len()),
        ));
    }
    let one = |value: &Value<'_>| {
        let index = value.number(0..=u32::MAX)?;
        if index < count {
            return Ok(index);
        }
        Err(value.error(
            Code::PakValue,
            format_args!("index {index} is out of range: the number of vertices is {count}"),
        ))
    };
    Ok((coordinates, list.iter().map(one).collect::<Result<_, _>>()?))
}

/// The fields that references and geometries share.
struct Placed {
    id: Option<String>,
    tags: Vec<String>,
    data: Vec<(String, Data)>,
    rotation: [f32; 4],
    translation: [f32; 3],
    scale: [f32; 3],
}

fn placed(fields: &Fields<'_>) -> Result<Placed, Diag> {
    let scale = fields.read("scale", |value| match value.float64() {
        Some(_) => Ok([value.float()?; 3]),
        None => value.array(),
    })?;
    let mut tags: Vec<String> = fields
        .read("tags", |value| value.strings())?
        .unwrap_or_default()
        .iter()
        .map(|tag| tag.trim().to_lowercase())
        .collect();
    tags.sort();
    tags.dedup();
    let data = match fields.get("data") {
        None => Vec::new(),
        Some(value) => table(&value.fields()?)?,
    };
    Ok(Placed {
        id: fields.read("id", |value| Ok(value.string()?.to_owned()))?,
        tags,
        data,
        rotation: rotation(fields)?.unwrap_or([0.0, 0.0, 0.0, 1.0]),
        translation: fields.read("translation", |value| value.array())?.unwrap_or_default(),
        scale: scale.unwrap_or([1.0; 3]),
    })
}

fn table(fields: &Fields<'_>) -> Result<Vec<(String, Data)>, Diag> {
    fields.all().map(|(key, value)| Ok((key.to_owned(), data(&value)?))).collect()
}

fn data(value: &Value<'_>) -> Result<Data, Diag> {
    Ok(match value.raw() {
        DeValue::Boolean(flag) => Data::Bool(*flag),
        DeValue::String(text) => Data::Text(text.to_string()),
        DeValue::Integer(_) => Data::Int(value.integer().ok_or_else(|| value.expected("a 64-bit integer"))?),
        DeValue::Float(_) => Data::Float(value.float64().ok_or_else(|| value.expected("a number"))?),
        DeValue::Array(_) => Data::Array(value.list()?.iter().map(data).collect::<Result<_, _>>()?),
        DeValue::Table(_) => Data::Table(table(&value.fields()?)?),
        DeValue::Datetime(_) => return Err(value.expected("a string, number, boolean, array or table")),
    })
}
