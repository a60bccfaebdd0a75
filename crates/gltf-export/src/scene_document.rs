//! A document made from an imported scene, for sources that are not glTF: OBJ and FBX.

use kiln_diagnostics::{Code, Diag};
use kiln_import::gltf::{AccessorData, DracoPrimitive};
use kiln_ir::{
    AlphaMode, ImageSource, Interpolation, Material, Node, Primitive, Property, Scene, Slot, Transform,
};

use crate::attribute::{FLOAT, UNSIGNED_INT, UNSIGNED_SHORT};
use crate::source::Source;
use crate::tree::{self, Json, floats, number, object, string};

/// A scene as a glTF document.
pub(crate) struct SceneDocument<'s> {
    scene: &'s Scene,
    json: Json,
    accessors: Vec<AccessorData>,
}

impl<'s> SceneDocument<'s> {
    pub(crate) fn new(scene: &'s Scene) -> SceneDocument<'s> {
        let mut document = SceneDocument { scene, json: Json::Null, accessors: vec![] };
        let list = |items: Vec<Json>| Json::Array(items);
        let roots = scene.roots.iter().map(|root| number(root.0 as usize)).collect();
        let nodes = scene.nodes.iter().map(node).collect();
        let meshes = scene.meshes.iter().map(|mesh| {
            let primitives = mesh.primitives.iter().map(|primitive| document.primitive(primitive)).collect();
            named(object([("primitives", list(primitives))]), &mesh.name)
        });
        let meshes: Vec<Json> = meshes.collect();
        let skins = scene.skins.iter().map(|skin| {
            let matrices = document.floats("MAT4", 16, skin.inverse_bind.as_flattened());
            let joints = skin.joints.iter().map(|joint| number(joint.0 as usize)).collect();
            named(object([("joints", list(joints)), ("inverseBindMatrices", number(matrices))]), &skin.name)
        });
        let skins: Vec<Json> = skins.collect();
        let animations = scene.animations.iter().map(|animation| document.animation(animation));
        let animations: Vec<Json> = animations.collect();
        let images = scene.images.iter().map(|image| named(object([]), &image.name)).collect();
        let textures = (0..scene.images.len()).map(|image| object([("source", number(image))])).collect();
        let materials = scene.materials.iter().map(material).collect();
        document.json = object([
            ("asset", object([("version", string("2.0"))])),
            ("scene", number(0)),
            ("scenes", list(vec![object([("nodes", list(roots))])])),
            ("nodes", list(nodes)),
            // A mesh without primitives is not valid, and nothing draws it.
            ("meshes", list(meshes)),
            ("skins", list(skins)),
            ("animations", list(animations)),
            ("materials", list(materials)),
            ("textures", list(textures)),
            ("images", list(images)),
        ]);
        document
    }

    fn accessor(
        &mut self,
        component_type: u32,
        kind: &str,
        components: usize,
        count: usize,
        bytes: Vec<u8>,
    ) -> usize {
        let kind = kind.to_owned();
        self.accessors.push(AccessorData {
            component_type,
            kind,
            components,
            normalized: false,
            count,
            bytes,
        });
        self.accessors.len() - 1
    }

    fn floats(&mut self, kind: &str, components: usize, values: &[f32]) -> usize {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.accessor(FLOAT, kind, components, values.len() / components, bytes)
    }

    fn primitive(&mut self, primitive: &Primitive) -> Json {
        let mut attributes = object([]);
        let streams: [(&str, &str, usize, &[f32]); 6] = [
            ("POSITION", "VEC3", 3, primitive.positions.as_flattened()),
            ("NORMAL", "VEC3", 3, primitive.normals.as_flattened()),
            ("TANGENT", "VEC4", 4, primitive.tangents.as_flattened()),
            ("TEXCOORD_0", "VEC2", 2, primitive.uv0.as_flattened()),
            (
                "TEXCOORD_1",
                "VEC2",
                2,
                if primitive.uv0.is_empty() { &[] } else { primitive.uv1.as_flattened() },
            ),
            ("WEIGHTS_0", "VEC4", 4, primitive.weights.as_flattened()),
        ];
        for (name, kind, components, values) in streams.into_iter().filter(|(.., values)| !values.is_empty())
        {
            let accessor = self.floats(kind, components, values);
            tree::set(&mut attributes, name, number(accessor));
        }
        if !primitive.joints.is_empty() {
            let bytes = primitive.joints.iter().flatten().flat_map(|joint| joint.to_le_bytes()).collect();
            let accessor = self.accessor(UNSIGNED_SHORT, "VEC4", 4, primitive.joints.len(), bytes);
            tree::set(&mut attributes, "JOINTS_0", number(accessor));
        }
        let bytes = primitive.indices.iter().flat_map(|index| index.to_le_bytes()).collect();
        let indices = self.accessor(UNSIGNED_INT, "SCALAR", 1, primitive.indices.len(), bytes);
        let mut json = object([("attributes", attributes), ("indices", number(indices))]);
        if let Some(material) = primitive.material {
            tree::set(&mut json, "material", number(material.0 as usize));
        }
        json
    }

    fn animation(&mut self, animation: &kiln_ir::Animation) -> Json {
        let (mut channels, mut samplers) = (Vec::new(), Vec::new());
        for channel in &animation.channels {
            let (path, kind) = match channel.property {
                Property::Translation => ("translation", "VEC3"),
                Property::Rotation => ("rotation", "VEC4"),
                Property::Scale => ("scale", "VEC3"),
                #[allow(unreachable_patterns)]
                _ => continue,
            };
            let interpolation = match channel.interpolation {
                Interpolation::Step => "STEP",
                Interpolation::Linear => "LINEAR",
                Interpolation::CubicSpline => "CUBICSPLINE",
            };
            let input = self.floats("SCALAR", 1, &channel.times);
            let output = self.floats(kind, channel.property.components(), &channel.values);
            let target = object([("node", number(channel.node.0 as usize)), ("path", string(path))]);
            channels.push(object([("sampler", number(samplers.len())), ("target", target)]));
            samplers.push(object([
                ("input", number(input)),
                ("output", number(output)),
                ("interpolation", string(interpolation)),
            ]));
        }
        let json = object([("channels", Json::Array(channels)), ("samplers", Json::Array(samplers))]);
        named(json, &animation.name)
    }
}

impl Source for SceneDocument<'_> {
    fn json(&self) -> Json {
        self.json.clone()
    }

    fn accessor(&self, index: usize) -> Result<AccessorData, Diag> {
        let found = self.accessors.get(index).cloned();
        found.ok_or_else(|| Diag::new(Code::Internal, format!("the scene has no accessor {index}")))
    }

    fn draco(&self, _: usize, _: usize) -> Result<Option<DracoPrimitive>, Diag> {
        Ok(None)
    }

    fn image(&self, index: usize) -> Result<ImageSource, Diag> {
        let found = self.scene.images.get(index).cloned();
        found.ok_or_else(|| Diag::new(Code::Internal, format!("the scene has no image {index}")))
    }
}

fn named(mut json: Json, name: &str) -> Json {
    if !name.is_empty() {
        tree::set(&mut json, "name", string(name));
    }
    json
}

fn node(node: &Node) -> Json {
    let mut json = named(object([]), &node.name);
    match &node.transform {
        transform if *transform == Transform::IDENTITY => {}
        Transform::Trs(trs) => {
            tree::set(&mut json, "translation", floats(&trs.translation));
            // All zeros mean no rotation.
            if trs.rotation != [0.0; 4] {
                tree::set(&mut json, "rotation", floats(&trs.rotation));
            }
            tree::set(&mut json, "scale", floats(&trs.scale));
        }
        Transform::Matrix(matrix) => tree::set(&mut json, "matrix", floats(&matrix.to_columns())),
    }
    if !node.children.is_empty() {
        let children = node.children.iter().map(|child| number(child.0 as usize)).collect();
        tree::set(&mut json, "children", Json::Array(children));
    }
    if let Some(mesh) = node.mesh {
        tree::set(&mut json, "mesh", number(mesh.0 as usize));
    }
    if let Some(skin) = node.skin {
        tree::set(&mut json, "skin", number(skin.0 as usize));
    }
    json
}

/// Converts a material. Emission above one is a factor with `KHR_materials_emissive_strength`.
fn material(material: &Material) -> Json {
    let texture =
        |slot: Slot| material.texture(slot).map(|image| object([("index", number(image.0 as usize))]));
    let mut pbr = object([
        ("baseColorFactor", floats(&material.base_color_factor)),
        ("metallicFactor", factor(material.metallic_factor)),
        ("roughnessFactor", factor(material.roughness_factor)),
    ]);
    for (name, slot) in
        [("baseColorTexture", Slot::BaseColor), ("metallicRoughnessTexture", Slot::MetallicRoughness)]
    {
        texture(slot).into_iter().for_each(|texture| tree::set(&mut pbr, name, texture));
    }
    let mut json = named(object([("pbrMetallicRoughness", pbr)]), &material.name);
    if let Some(mut normal) = texture(Slot::Normal) {
        tree::set(&mut normal, "scale", factor(material.normal_scale));
        tree::set(&mut json, "normalTexture", normal);
    }
    if let Some(mut occlusion) = texture(Slot::Occlusion) {
        tree::set(&mut occlusion, "strength", factor(material.occlusion_strength));
        tree::set(&mut json, "occlusionTexture", occlusion);
    }
    texture(Slot::Emissive).into_iter().for_each(|texture| tree::set(&mut json, "emissiveTexture", texture));
    let strength = material.emissive_factor.iter().copied().fold(1.0, f32::max);
    tree::set(
        &mut json,
        "emissiveFactor",
        floats(&material.emissive_factor.map(|x| (x / strength).max(0.0))),
    );
    if strength > 1.0 {
        let extension = object([("emissiveStrength", factor(strength))]);
        tree::set_extension(&mut json, "KHR_materials_emissive_strength", extension);
    }
    match material.alpha_mode {
        AlphaMode::Opaque => {}
        AlphaMode::Mask => {
            tree::set(&mut json, "alphaMode", string("MASK"));
            tree::set(&mut json, "alphaCutoff", factor(material.alpha_cutoff));
        }
        AlphaMode::Blend => tree::set(&mut json, "alphaMode", string("BLEND")),
    }
    if material.double_sided {
        tree::set(&mut json, "doubleSided", Json::Bool(true));
    }
    json
}

fn factor(value: f32) -> Json {
    match floats(&[value]) {
        Json::Array(mut items) => items.pop().unwrap_or(Json::Null),
        other => other,
    }
}
