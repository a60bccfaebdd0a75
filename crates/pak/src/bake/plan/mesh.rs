//! Parsing of the `[mesh]` table.

use super::super::compression::Compression;
use super::super::toml_document::{Fields, Value};
use super::{NodeId, Planner, part};
use kiln_engine::{Code, Diag, RelPath};
use kiln_ir::transform::{Transform, Trs, normalize, rotate};

/// The settings of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MeshSpec {
    pub(crate) src: RelPath,
    pub(crate) name: Option<String>,
    pub(crate) scene: Option<String>,
    pub(crate) flip: [bool; 3],
    pub(crate) placement: Placement,
    pub(crate) ignore_skin: bool,
    pub(crate) lod: bool,
    pub(crate) lod_lock_border: bool,
    pub(crate) lod_error: f32,
    pub(crate) min_lod_triangles: u32,
    pub(crate) max_index: Option<u32>,
    pub(crate) normals: bool,
    pub(crate) tangents: bool,
    pub(crate) optimize: bool,
    pub(crate) overdraw: f32,
    pub(crate) shadow: bool,
    pub(crate) meshlets: bool,
    pub(crate) uv1: bool,
    pub(crate) colors: bool,
    pub(crate) morphs: bool,
}

/// A transform: scale, then rotation, then translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Placement {
    pub(crate) scale: [f32; 3],
    pub(crate) rotation: [f32; 4],
    pub(crate) offset: [f32; 3],
}

impl Placement {
    pub(crate) const NONE: Placement =
        Placement { scale: [1.0; 3], rotation: [0.0, 0.0, 0.0, 1.0], offset: [0.0; 3] };

    pub(crate) fn matrix(&self) -> kiln_ir::Matrix {
        let Placement { scale, rotation, offset } = *self;
        Transform::Trs(Trs { translation: offset, rotation, scale }).matrix()
    }
}

impl MeshSpec {
    /// Returns the default settings for a glTF file.
    pub(crate) fn plain(src: RelPath) -> MeshSpec {
        MeshSpec {
            src,
            name: None,
            scene: None,
            flip: [false; 3],
            placement: Placement::NONE,
            ignore_skin: false,
            lod: false,
            lod_lock_border: false,
            lod_error: 0.05,
            min_lod_triangles: 64,
            max_index: None,
            normals: true,
            tangents: true,
            optimize: true,
            overdraw: 1.05,
            shadow: false,
            meshlets: false,
            uv1: true,
            colors: true,
            morphs: true,
        }
    }

    pub(crate) fn lines(&self) -> String {
        let MeshSpec {
            src, name, scene, flip, placement, ignore_skin, lod, lod_lock_border, lod_error, ..
        } = self;
        let MeshSpec {
            min_lod_triangles,
            max_index,
            normals,
            tangents,
            optimize,
            overdraw,
            shadow,
            meshlets,
            uv1,
            colors,
            morphs,
            ..
        } = self;
        let Placement { scale, rotation, offset } = placement;
        format!(
            "src={src}\nname={name:?}\nscene-name={scene:?}\nflip={flip:?}\nscale={scale:?}\nrotation={rotation:?}\n\
             offset={offset:?}\nignore-skin={ignore_skin}\nlod={lod}\nlod-lock-border={lod_lock_border}\n\
             lod-target-error={lod_error:?}\nmin-lod-triangles={min_lod_triangles}\nmax-index={max_index:?}\n\
             normals={normals}\ntangents={tangents}\noptimize={optimize}\noverdraw-threshold={overdraw:?}\n\
             shadow={shadow}\nmeshlets={meshlets}\nuv1={uv1}\ncolors={colors}\nmorphs={morphs}\n"
        )
    }
}

impl Planner<'_, '_> {
    pub(super) fn mesh(
        &mut self,
        path: &RelPath,
        fields: Fields<'_>,
        compression: Compression,
    ) -> Result<NodeId, Diag> {
        let src = self.src(path, &fields, &["glb", "gltf"])?;
        let plain = MeshSpec::plain(src);
        let data = fields.get("data");
        let rotation = rotation(&fields)?;
        let scale = fields.read("scale", |value| {
            let scale = if value.float64().is_some() { [value.float()?; 3] } else { value.array()? };
            if scale.contains(&0.0) { Err(value.expected("a scale without zeros")) } else { Ok(scale) }
        })?;
        let offset = fields.read("offset", |value| value.array())?;
        let max_index = fields.read("max-index", |value| match value.integer() {
            Some(_) => value.number(2..=u32::MAX - 1),
            None => value.word(&[("u8", 0xff), ("u16", 0xffff)]),
        })?;
        let positive = |value: Value<'_>| {
            Some(value.float()?).filter(|n| *n >= 0.0).ok_or_else(|| value.expected("a non-negative number"))
        };
        let spec = MeshSpec {
            name: fields.read("name", |value| value.non_empty_string())?,
            scene: fields.read("scene-name", |value| value.non_empty_string())?,
            flip: [
                fields.flag("flip-x", false)?,
                fields.flag("flip-y", false)?,
                fields.flag("flip-z", false)?,
            ],
            placement: Placement {
                scale: scale.unwrap_or([1.0; 3]),
                rotation: rotation.unwrap_or([0.0, 0.0, 0.0, 1.0]),
                offset: offset.unwrap_or_default(),
            },
            ignore_skin: fields.flag("ignore-skin", false)?,
            lod: fields.flag("lod", false)?,
            lod_lock_border: fields.flag("lod-lock-border", false)?,
            lod_error: fields.read("lod-target-error", positive)?.unwrap_or(plain.lod_error),
            min_lod_triangles: fields
                .read("min-lod-triangles", |value| value.number(1..=u32::MAX))?
                .unwrap_or(plain.min_lod_triangles),
            max_index,
            normals: fields.flag("normals", true)?,
            tangents: fields.flag("tangents", true)?,
            optimize: fields.flag("optimize", true)?,
            overdraw: fields.read("overdraw-threshold", positive)?.unwrap_or(plain.overdraw),
            shadow: fields.flag("shadow", false)?,
            meshlets: fields.flag("meshlets", false)?,
            uv1: fields.flag("uv1", true)?,
            colors: fields.flag("colors", true)?,
            morphs: fields.flag("morphs", true)?,
            ..plain
        };
        if let (false, true, Some(value)) = (spec.normals, spec.tangents, fields.get("tangents")) {
            let message = "tangents require normals, and normals is false: none are stored";
            value.warn(
                value.error(Code::PakTangents, message).hint("remove tangents, or set normals to true"),
            );
        }
        fields.finish();
        let data = match data {
            Some(value) => {
                let blob = self.path(&value)?;
                let node = self.blob_node(&part(path, "data"), blob.clone(), compression);
                // The blob gets its own path as its key, like any file.
                self.plan.keys.entry(blob.to_string()).or_insert((node, blob));
                Some(node)
            }
            None => None,
        };
        Ok(self.mesh_node(path, spec, data, compression))
    }
}

/// Reads `rotation`: a quaternion, or three Euler angles in degrees in the order of `euler`.
pub(super) fn rotation(fields: &Fields<'_>) -> Result<Option<[f32; 4]>, Diag> {
    let order = fields.read("euler", |value| {
        let text = value.string()?;
        let axes: Option<Vec<usize>> = text.chars().map(|c| "xyz".find(c)).collect();
        let axes = axes.and_then(|axes| <[usize; 3]>::try_from(axes).ok());
        let axes = axes.filter(|[a, b, c]| a != b && b != c && a != c);
        let axes = axes.ok_or_else(|| value.expected("a permutation of the letters x, y and z"))?;
        if axes != [0, 1, 2] {
            let message = format!(
                "the angles are about x, y and z, and applied in the order {text:?}; pak 0.7 took them as angles about \
                 {}, {} and {}",
                &text[..1],
                &text[1..2],
                &text[2..]
            );
            let hint = "check the rotation; a quaternion has the same meaning in both";
            value.warn(value.error(Code::PakEuler, message).hint(hint));
        }
        Ok(axes)
    })?;
    fields.read("rotation", |value| {
        let numbers = value.floats()?;
        match *numbers.as_slice() {
            [x, y, z, w] => {
                let length = [x, y, z, w].map(f64::from).iter().map(|v| v * v).sum::<f64>();
                if length < 1e-12 {
                    return Err(value.expected("a non-zero quaternion"));
                }
                Ok(normalize([x, y, z, w].map(f64::from)).map(|v| v as f32))
            }
            [x, y, z] => Ok(euler([x, y, z], order.unwrap_or([0, 1, 2]))),
            _ => Err(value.expected("3 angles in degrees or a quaternion of 4 numbers")),
        }
    })
}

/// Converts intrinsic Euler angles to a quaternion: each rotation is about an axis that the previous ones have rotated.
fn euler(degrees: [f32; 3], order: [usize; 3]) -> [f32; 4] {
    let about = |axis: usize| {
        let half = f64::from(degrees[axis]).to_radians() / 2.0;
        let mut quaternion = [0.0, 0.0, 0.0, libm::cos(half)];
        quaternion[axis] = libm::sin(half);
        quaternion
    };
    let [a, b, c] = order.map(about);
    normalize(rotate(rotate(a, b), c)).map(|v| v as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn euler_angles_are_intrinsic_degrees_in_the_given_order() {
        let close = |a: [f32; 4], b: [f32; 4]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
        let half = std::f32::consts::FRAC_1_SQRT_2;
        assert!(close(euler([90.0, 0.0, 0.0], [0, 1, 2]), [half, 0.0, 0.0, half]));
        // About x, then about the new y: the y axis has become z.
        let xyz = euler([90.0, 90.0, 0.0], [0, 1, 2]);
        assert!(close(xyz, [0.5, 0.5, 0.5, 0.5]), "{xyz:?}");
        let yxz = euler([90.0, 90.0, 0.0], [1, 0, 2]);
        assert!(close(yxz, [0.5, 0.5, -0.5, 0.5]), "{yxz:?}");
    }
}
