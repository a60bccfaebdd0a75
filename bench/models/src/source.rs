//! A glTF file, read by other code than the product's: triangles in the scene's space, in the pose the file has.

use std::path::Path;

use glam::{DMat3, DMat4, DQuat, DVec2, DVec3};
use gltf::accessor::{DataType, Dimensions, Iter};
use gltf::mesh::Mode;
use serde_json::Value;

use crate::{Corner, Factors, Model, Triangle, packed};

/// The reason why a file cannot be read here.
#[derive(Debug)]
pub enum Unread {
    /// It is packed with Draco.
    Draco,
    #[allow(dead_code, reason = "it is printed")]
    Broken(String),
}

impl From<String> for Unread {
    fn from(why: String) -> Unread {
        Unread::Broken(why)
    }
}

/// Reads the default scene of a file; references are those of a source with this stem.
pub fn read(path: &Path, stem: &str) -> Result<Model, Unread> {
    let broken = |why: &dyn std::fmt::Display| Unread::Broken(why.to_string());
    let bytes = std::fs::read(path).map_err(|e| broken(&e))?;
    let gltf = gltf::Gltf::from_slice_without_validation(&bytes).map_err(|e| broken(&e))?;
    let json: Value = match gltf::binary::Glb::from_slice(&bytes) {
        Ok(glb) => serde_json::from_slice(&glb.json),
        Err(_) => serde_json::from_slice(&bytes),
    }
    .map_err(|e| broken(&e))?;
    if json.to_string().contains("\"KHR_draco_mesh_compression\":{") {
        return Err(Unread::Draco);
    }
    let mut buffers = buffers(path, &json, gltf.blob.as_deref())?;
    packed::unpack(&json, &mut buffers)?;
    let materials = materials(&json, stem);
    let mut reader = Reader {
        gltf: &gltf,
        json: &json,
        buffers,
        references: materials.iter().map(|m| m.reference).collect(),
        worlds: Vec::new(),
        triangles: Vec::new(),
    };
    reader.walk()?;
    let mut model = Model { triangles: reader.triangles, materials };
    model.materials.retain(|m| model.triangles.iter().any(|t| t.material == Some(m.reference)));
    Ok(model)
}

fn buffers(path: &Path, json: &Value, blob: Option<&[u8]>) -> Result<Vec<Vec<u8>>, String> {
    let mut buffers = Vec::new();
    for (index, buffer) in json["buffers"].as_array().into_iter().flatten().enumerate() {
        let length = buffer["byteLength"].as_u64().unwrap_or(0) as usize;
        buffers.push(match (buffer["uri"].as_str(), blob) {
            (Some(uri), _) if uri.starts_with("data:") => {
                base64(uri.split_once(',').ok_or("a data URI without a comma")?.1)
            }
            (Some(uri), _) => {
                let file = path.with_file_name(uri.replace("%20", " "));
                std::fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?
            }
            (None, Some(blob)) if index == 0 => blob.to_vec(),
            (None, _) => vec![0; length],
        });
    }
    Ok(buffers)
}

fn base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut bits, mut held, mut bytes) = (0u32, 0, Vec::new());
    for six in text.bytes().filter_map(value) {
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

/// The references and factors of all materials (facts: names in lower case unless they are missing or not unique).
fn materials(json: &Value, stem: &str) -> Vec<Factors> {
    let list: Vec<&Value> = json["materials"].as_array().into_iter().flatten().collect();
    let names: Vec<String> =
        list.iter().map(|m| m["name"].as_str().unwrap_or_default().to_ascii_lowercase()).collect();
    let number = |value: &Value, otherwise: f32| value.as_f64().map_or(otherwise, |n| n as f32);
    list.iter()
        .enumerate()
        .map(|(index, m)| {
            let name = &names[index];
            let unique = !name.is_empty() && names.iter().filter(|other| *other == name).count() == 1;
            let leaf = if unique { name.clone() } else { format!("material_{index}") };
            let pbr = &m["pbrMetallicRoughness"];
            let strength =
                number(&m["extensions"]["KHR_materials_emissive_strength"]["emissiveStrength"], 1.0);
            let textures = [
                &pbr["baseColorTexture"],
                &pbr["metallicRoughnessTexture"],
                &m["normalTexture"],
                &m["occlusionTexture"],
                &m["emissiveTexture"],
            ];
            Factors {
                reference: fnv(&format!("{}/{leaf}", stem.to_ascii_lowercase())),
                base_color: std::array::from_fn(|i| number(&pbr["baseColorFactor"][i], 1.0)),
                emissive: std::array::from_fn(|i| number(&m["emissiveFactor"][i], 0.0) * strength),
                rest: [
                    number(&pbr["metallicFactor"], 1.0),
                    number(&pbr["roughnessFactor"], 1.0),
                    number(&m["normalTexture"]["scale"], 1.0),
                    number(&m["occlusionTexture"]["strength"], 1.0),
                    number(&m["alphaCutoff"], 0.5),
                ],
                alpha_mode: match m["alphaMode"].as_str() {
                    Some("MASK") => 1,
                    Some("BLEND") => 2,
                    _ => 0,
                },
                double_sided: m["doubleSided"].as_bool().unwrap_or(false),
                textures: textures.map(Value::is_object),
            }
        })
        .collect()
}

/// FNV-1a, 64 bits.
fn fnv(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

struct Reader<'a> {
    gltf: &'a gltf::Gltf,
    json: &'a Value,
    buffers: Vec<Vec<u8>>,
    references: Vec<u64>,
    worlds: Vec<DMat4>,
    triangles: Vec<Triangle>,
}

fn matrix(columns: [[f32; 4]; 4]) -> DMat4 {
    DMat4::from_cols_array_2d(&columns.map(|column| column.map(f64::from)))
}

/// The transform of a node. Rotations are of length one, but for the digits that exporters leave out.
fn local(node: &gltf::Node<'_>) -> DMat4 {
    match node.transform() {
        gltf::scene::Transform::Matrix { matrix: columns } => matrix(columns),
        gltf::scene::Transform::Decomposed { translation, rotation, scale } => {
            DMat4::from_scale_rotation_translation(
                DVec3::from_array(scale.map(f64::from)),
                DQuat::from_array(rotation.map(f64::from)).normalize(),
                DVec3::from_array(translation.map(f64::from)),
            )
        }
    }
}

impl Reader<'_> {
    fn walk(&mut self) -> Result<(), String> {
        let document = &self.gltf.document;
        let scene = document.default_scene().or_else(|| document.scenes().next());
        let mut all: Vec<_> = document.nodes().collect();
        let is_child: Vec<usize> = all.iter().flat_map(|n| n.children()).map(|n| n.index()).collect();
        let tops: Vec<_> = all.iter().filter(|n| !is_child.contains(&n.index())).cloned().collect();
        self.worlds = vec![DMat4::IDENTITY; all.len()];
        let mut stack: Vec<_> = tops.iter().map(|n| (n.clone(), DMat4::IDENTITY)).collect();
        while let Some((node, above)) = stack.pop() {
            let world = above * local(&node);
            self.worlds[node.index()] = world;
            stack.extend(node.children().map(|child| (child, world)));
        }
        let roots: Vec<_> = scene.map_or(tops, |scene| scene.nodes().collect());
        let mut drawn = Vec::new();
        let mut stack = roots;
        while let Some(node) = stack.pop() {
            stack.extend(node.children());
            drawn.push(node);
        }
        all.clear();
        if self.worlds.is_empty() {
            for mesh in document.meshes() {
                self.mesh(&mesh, DMat4::IDENTITY, None)?;
            }
        }
        for node in drawn {
            let Some(mesh) = node.mesh() else { continue };
            let world = self.worlds[node.index()];
            let skin = node.skin().map(|skin| self.poses(&skin)).transpose()?;
            for place in self.instances(node.index())? {
                self.mesh(&mesh, world * place, skin.as_deref())?;
            }
        }
        Ok(())
    }

    /// From the space of vertices to that of the scene, for each joint.
    fn poses(&self, skin: &gltf::Skin<'_>) -> Result<Vec<DMat4>, String> {
        let joints: Vec<usize> = skin.joints().map(|joint| joint.index()).collect();
        let inverse: Vec<DMat4> = match skin.inverse_bind_matrices() {
            Some(accessor) => {
                let iter =
                    Iter::<[[f32; 4]; 4]>::new(accessor, |b| self.buffers.get(b.index()).map(Vec::as_slice));
                iter.ok_or("no inverse binds")?.map(matrix).collect()
            }
            None => vec![DMat4::IDENTITY; joints.len()],
        };
        Ok(joints.iter().zip(inverse).map(|(&joint, inverse)| self.worlds[joint] * inverse).collect())
    }

    fn instances(&self, node: usize) -> Result<Vec<DMat4>, String> {
        let attributes = &self.json["nodes"][node]["extensions"]["EXT_mesh_gpu_instancing"]["attributes"];
        if !attributes.is_object() {
            return Ok(vec![DMat4::IDENTITY]);
        }
        let floats =
            |name: &str| attributes[name].as_u64().map(|index| self.floats(index as usize)).transpose();
        let (t, r, s) = (floats("TRANSLATION")?, floats("ROTATION")?, floats("SCALE")?);
        let count = [&t, &r, &s].into_iter().flatten().map(Vec::len).max().unwrap_or(0);
        let vector = |list: &Option<Vec<[f64; 4]>>, i: usize, otherwise: DVec3| {
            list.as_ref().map_or(otherwise, |l| DVec3::new(l[i][0], l[i][1], l[i][2]))
        };
        let turn = |i: usize| r.as_ref().map_or(DQuat::IDENTITY, |l| DQuat::from_array(l[i]).normalize());
        let place = |i| {
            DMat4::from_scale_rotation_translation(
                vector(&s, i, DVec3::ONE),
                turn(i),
                vector(&t, i, DVec3::ZERO),
            )
        };
        Ok((0..count).map(place).collect())
    }

    /// An accessor of any type as floats, up to four for each element.
    fn floats(&self, index: usize) -> Result<Vec<[f64; 4]>, String> {
        let accessor = self.gltf.accessors().nth(index).ok_or("no such accessor")?;
        let normalized = accessor.normalized();
        let get = |b: gltf::Buffer<'_>| self.buffers.get(b.index()).map(Vec::as_slice);
        // Each combination is a type of its own to the other reader.
        macro_rules! read {
            ($number:ty, $most:expr) => {{
                let scale = |v: $number| {
                    let value = f64::from(v);
                    if normalized { (value / $most).max(-1.0) } else { value }
                };
                let none = "the accessor cannot be read";
                match accessor.dimensions() {
                    Dimensions::Scalar => Iter::<$number>::new(accessor, get)
                        .ok_or(none)?
                        .map(|v| [scale(v), 0.0, 0.0, 0.0])
                        .collect(),
                    Dimensions::Vec2 => Iter::<[$number; 2]>::new(accessor, get)
                        .ok_or(none)?
                        .map(|v| [scale(v[0]), scale(v[1]), 0.0, 0.0])
                        .collect(),
                    Dimensions::Vec3 => Iter::<[$number; 3]>::new(accessor, get)
                        .ok_or(none)?
                        .map(|v| [scale(v[0]), scale(v[1]), scale(v[2]), 0.0])
                        .collect(),
                    Dimensions::Vec4 => {
                        Iter::<[$number; 4]>::new(accessor, get).ok_or(none)?.map(|v| v.map(scale)).collect()
                    }
                    other => return Err(format!("{other:?} is not read here")),
                }
            }};
        }
        Ok(match accessor.data_type() {
            DataType::F32 => read!(f32, 1.0),
            DataType::I8 => read!(i8, 127.0),
            DataType::U8 => read!(u8, 255.0),
            DataType::I16 => read!(i16, 32767.0),
            DataType::U16 => read!(u16, 65535.0),
            DataType::U32 => read!(u32, 4294967295.0),
        })
    }

    fn mesh(&mut self, mesh: &gltf::Mesh<'_>, world: DMat4, skin: Option<&[DMat4]>) -> Result<(), String> {
        for primitive in mesh.primitives() {
            let json = &self.json["meshes"][mesh.index()]["primitives"][primitive.index()];
            let attribute = |name: &str| {
                json["attributes"][name].as_u64().map(|index| self.floats(index as usize)).transpose()
            };
            let Some(positions) = attribute("POSITION")? else { continue };
            let normals = attribute("NORMAL")?;
            let tangents = attribute("TANGENT")?;
            let material = primitive.material().index();
            let (set, map) = material.map_or((0, DMat3::IDENTITY), |m| mapping(&self.json["materials"][m]));
            let uvs = match attribute(&format!("TEXCOORD_{set}"))? {
                None => attribute("TEXCOORD_0")?,
                found => found,
            };
            let mut influences = Vec::new();
            for set in 0.. {
                let (joints, weights) =
                    (attribute(&format!("JOINTS_{set}"))?, attribute(&format!("WEIGHTS_{set}"))?);
                let (Some(joints), Some(weights)) = (joints, weights) else { break };
                influences.push((joints, weights));
            }
            let place = |vertex: usize| match skin.filter(|_| !influences.is_empty()) {
                None => world,
                Some(poses) => blend(&influences, vertex, poses),
            };
            let is_skinned = skin.is_some() && !influences.is_empty();
            let is_mirrored = !is_skinned && world.determinant() < 0.0;
            let corner = |vertex: usize| {
                let matrix = place(vertex);
                let linear = DMat3::from_mat4(matrix);
                let vector = |v: [f64; 4]| DVec3::new(v[0], v[1], v[2]);
                let normal = normals.as_ref().map(|n| linear.inverse().transpose() * vector(n[vertex]));
                let tangent = tangents.as_ref().map(|t| {
                    let sign = t[vertex][3] * if linear.determinant() < 0.0 { -1.0 } else { 1.0 };
                    ((linear * vector(t[vertex])).normalize_or_zero(), sign)
                });
                let uv = uvs
                    .as_ref()
                    .map_or(DVec2::ZERO, |uv| map.transform_point2(DVec2::new(uv[vertex][0], uv[vertex][1])));
                let position = matrix.transform_point3(vector(positions[vertex]));
                Corner { position, normal: normal.and_then(DVec3::try_normalize), uv, tangent }
            };
            let indices: Vec<usize> = match json["indices"].as_u64() {
                Some(index) => self.floats(index as usize)?.iter().map(|v| v[0] as usize).collect(),
                None => (0..positions.len()).collect(),
            };
            let triangles: Vec<[usize; 3]> = match primitive.mode() {
                Mode::Triangles => indices.chunks_exact(3).map(|t| [t[0], t[1], t[2]]).collect(),
                Mode::TriangleStrip => indices
                    .windows(3)
                    .enumerate()
                    .map(|(i, t)| if i % 2 == 0 { [t[0], t[1], t[2]] } else { [t[1], t[0], t[2]] })
                    .collect(),
                Mode::TriangleFan => indices[1..].windows(2).map(|t| [t[0], t[1], indices[0]]).collect(),
                _ => continue,
            };
            let material = material.map(|index| self.references[index]);
            let mut found = Vec::with_capacity(triangles.len());
            for [a, b, c] in triangles {
                let mut corners = if is_mirrored { [a, c, b] } else { [a, b, c] }.map(corner);
                if normals.is_none() {
                    let [a, b, c] = corners.map(|corner| corner.position);
                    let flat = (b - a).cross(c - a);
                    let is_sliver = flat.length() < 1e-4 * (b - a).length().max((c - a).length()).powi(2);
                    corners.iter_mut().for_each(|corner| {
                        corner.normal = if is_sliver { None } else { flat.try_normalize() }
                    });
                }
                found.push(Triangle { corners, material });
            }
            self.triangles.extend(found);
        }
        Ok(())
    }
}

/// One set of influences: joints and weights of all vertices.
type Influences = (Vec<[f64; 4]>, Vec<[f64; 4]>);

/// The mean of the matrices of a vertex, of the four strongest.
fn blend(influences: &[Influences], vertex: usize, poses: &[DMat4]) -> DMat4 {
    let mut pairs: Vec<(f64, usize)> = influences
        .iter()
        .flat_map(|(joints, weights)| (0..4).map(move |i| (weights[vertex][i], joints[vertex][i] as usize)))
        .collect();
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    pairs.truncate(4);
    let sum: f64 = pairs.iter().map(|pair| pair.0).sum();
    if sum <= 0.0 {
        return poses[0];
    }
    pairs.iter().fold(DMat4::ZERO, |blended, &(weight, joint)| blended + poses[joint] * (weight / sum))
}

/// The set of coordinates and the transform of the first texture of a material, which all its textures get.
fn mapping(material: &Value) -> (u64, DMat3) {
    let pbr = &material["pbrMetallicRoughness"];
    let textures = [
        &pbr["baseColorTexture"],
        &pbr["metallicRoughnessTexture"],
        &material["normalTexture"],
        &material["occlusionTexture"],
        &material["emissiveTexture"],
    ];
    let Some(info) = textures.into_iter().find(|info| info.is_object()) else { return (0, DMat3::IDENTITY) };
    let transform = &info["extensions"]["KHR_texture_transform"];
    let set = transform["texCoord"].as_u64().or(info["texCoord"].as_u64()).unwrap_or(0);
    let pair = |value: &Value, otherwise: f64| {
        DVec2::new(value[0].as_f64().unwrap_or(otherwise), value[1].as_f64().unwrap_or(otherwise))
    };
    // KHR_texture_transform: translation * rotation * scale, the rotation counter-clockwise with v downwards.
    let angle = transform["rotation"].as_f64().unwrap_or(0.0);
    let map = DMat3::from_translation(pair(&transform["offset"], 0.0))
        * DMat3::from_angle(-angle)
        * DMat3::from_scale(pair(&transform["scale"], 1.0));
    (set, map)
}
