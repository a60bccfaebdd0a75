//! Meshes on which algorithms over the neighbourhood of a vertex are slow, beside a grid of the same number of triangles:
//! CPU time of whole processes, `assetc build` and `pak bake`, for each triangle.
//!
//! | shape | is |
//! |---|---|
//! | grid | a wavy sheet, the reference |
//! | fan | all triangles around one vertex |
//! | fans | eight fans |
//! | cones | fans of 900 triangles each |
//! | double cone | all triangles around one of two vertices |
//! | book | all triangles share one edge |
//! | soup fan | as a fan, every corner a vertex of its own |
//! | point | all positions are equal |
//! | points | all corners are at fifty positions, each a vertex of its own |
//! | comb | a strip with a long tooth on each step |
//!
//! Each is measured without normals, which makes every face flat, and with normals and UVs.

use crate::process::{self, median};
use crate::{assetc, pak};
use std::path::Path;
use std::process::{Command, Stdio};

/// Positions and triangles.
#[derive(Default)]
struct Shape {
    positions: Vec<[f32; 3]>,
    indices: Vec<u32>,
}

impl Shape {
    fn grid(count: u32) -> Self {
        let side = ((count as f32 / 2.0).sqrt() as u32).max(1);
        let mut shape = Self::default();
        for row in 0..=side {
            for column in 0..=side {
                let (x, y) = (column as f32 / side as f32, row as f32 / side as f32);
                shape.positions.push([x, y, 0.1 * (7.0 * x).sin() * (5.0 * y).cos()]);
            }
        }
        for row in 0..side {
            for column in 0..side {
                let a = row * (side + 1) + column;
                let b = a + side + 1;
                shape.indices.extend([a, a + 1, b, b, a + 1, b + 1]);
            }
        }
        shape
    }

    fn fans(count: u32, fans: u32) -> Self {
        let mut shape = Self::default();
        let sides = (count / fans).max(3);
        for fan in 0..fans {
            let (apex, x) = (shape.positions.len() as u32, 3.0 * fan as f32);
            shape.positions.push([x, 0.0, 0.3]);
            shape.positions.extend((0..sides).map(|side| {
                let [a, b] = circle(side, sides);
                [x + a, b, 0.0]
            }));
            let rim = |side: u32| apex + 1 + side % sides;
            shape.indices.extend((0..sides).flat_map(|side| [apex, rim(side), rim(side + 1)]));
        }
        shape
    }

    fn double_cone(count: u32) -> Self {
        let sides = count / 2;
        let mut shape = Self { positions: vec![[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]], ..Self::default() };
        shape.positions.extend((0..sides).map(|side| {
            let [a, b] = circle(side, sides);
            [a, b, 0.0]
        }));
        let rim = |side: u32| 2 + side % sides;
        shape
            .indices
            .extend((0..sides).flat_map(|side| [0, rim(side), rim(side + 1), 1, rim(side + 1), rim(side)]));
        shape
    }

    fn book(count: u32) -> Self {
        let mut shape = Self { positions: vec![[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]], ..Self::default() };
        shape.positions.extend((0..count).map(|page| {
            let [a, b] = circle(page, count);
            [a, b, 0.5]
        }));
        shape.indices.extend((0..count).flat_map(|page| [0, 1, 2 + page]));
        shape
    }

    fn point(count: u32) -> Self {
        let positions = vec![[1.0, 2.0, 3.0]; count as usize + 2];
        Self { positions, indices: (0..count).flat_map(|at| [at, at + 1, at + 2]).collect() }
    }

    fn points(count: u32) -> Self {
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        let places: Vec<[f32; 3]> =
            (0..50).map(|_| [0; 3].map(|_| random() as f32 / u32::MAX as f32)).collect();
        let positions = (0..count * 3).map(|_| places[random() as usize % 50]).collect();
        Self { positions, indices: (0..count * 3).collect() }
    }

    fn comb(count: u32) -> Self {
        let teeth = count / 3;
        let mut shape = Self::default();
        for tooth in 0..=teeth {
            let at = |step: f32| (tooth as f32 + step) / teeth as f32;
            shape.positions.extend([[at(0.0), 0.0, 0.0], [at(0.0), -0.01, 0.0], [at(0.5), 1.0, 0.0]]);
        }
        let tooth = |tooth: u32| {
            let a = tooth * 3;
            [a, a + 1, a + 4, a, a + 4, a + 3, a, a + 3, a + 2]
        };
        shape.indices.extend((0..teeth).flat_map(tooth));
        shape
    }

    /// Every corner a vertex of its own.
    fn exploded(&self) -> Self {
        let positions = self.indices.iter().map(|&index| self.positions[index as usize]).collect();
        Self { positions, indices: (0..self.indices.len() as u32).collect() }
    }

    /// A binary glTF, without or with normals and UVs.
    fn glb(&self, attributes: bool) -> Vec<u8> {
        let count = self.positions.len();
        let mut bin: Vec<u8> = self.positions.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect();
        let mut views = format!("{{\"buffer\":0,\"byteLength\":{}}}", bin.len());
        let (mut min, mut max) = ([f32::MAX; 3], [f32::MIN; 3]);
        for position in &self.positions {
            for axis in 0..3 {
                min[axis] = min[axis].min(position[axis]);
                max[axis] = max[axis].max(position[axis]);
            }
        }
        let mut accessors = format!(
            "{{\"bufferView\":0,\"componentType\":5126,\"count\":{count},\"type\":\"VEC3\",\"min\":{min:?},\"max\":{max:?}}}"
        );
        let mut names = "\"POSITION\":0".to_owned();
        let mut add = |data: Vec<u8>, component: u32, count: usize, kind: &str| {
            views += &format!(",{{\"buffer\":0,\"byteOffset\":{},\"byteLength\":{}}}", bin.len(), data.len());
            let view = views.matches("buffer\"").count() - 1;
            accessors += &format!(
                ",{{\"bufferView\":{view},\"componentType\":{component},\"count\":{count},\"type\":\"{kind}\"}}"
            );
            bin.extend(data);
            view
        };
        if attributes {
            let normals = (0..count).flat_map(|_| [0.0f32, 0.0, 1.0]).flat_map(f32::to_le_bytes).collect();
            names += &format!(",\"NORMAL\":{}", add(normals, 5126, count, "VEC3"));
            let uvs = self.positions.iter().flat_map(|p| [p[0] * 0.3, p[1] * 0.3]).flat_map(f32::to_le_bytes);
            names += &format!(",\"TEXCOORD_0\":{}", add(uvs.collect(), 5126, count, "VEC2"));
        }
        let indices = self.indices.iter().flat_map(|index| index.to_le_bytes()).collect();
        let indices = add(indices, 5125, self.indices.len(), "SCALAR");
        let mut json = format!(
            "{{\"asset\":{{\"version\":\"2.0\"}},\"scene\":0,\"scenes\":[{{\"nodes\":[0]}}],\"nodes\":[{{\"mesh\":0}}],\
             \"meshes\":[{{\"primitives\":[{{\"attributes\":{{{names}}},\"indices\":{indices}}}]}}],\
             \"accessors\":[{accessors}],\"bufferViews\":[{views}],\"buffers\":[{{\"byteLength\":{}}}]}}",
            bin.len()
        );
        json.extend(std::iter::repeat_n(' ', json.len().next_multiple_of(4) - json.len()));
        let total = 12 + 8 + json.len() + 8 + bin.len();
        let mut glb = b"glTF\x02\0\0\0".to_vec();
        glb.extend((total as u32).to_le_bytes());
        glb.extend((json.len() as u32).to_le_bytes());
        glb.extend(b"JSON");
        glb.extend(json.as_bytes());
        glb.extend((bin.len() as u32).to_le_bytes());
        glb.extend(b"BIN\0");
        glb.extend(bin);
        glb
    }
}

fn circle(at: u32, of: u32) -> [f32; 2] {
    let turn = at as f32 / of as f32 * std::f32::consts::TAU;
    [turn.cos(), turn.sin()]
}

/// Measures each number of triangles, and prints one table: CPU for each triangle, and how often that of the grid.
pub fn shapes(runs: usize, counts: &[usize]) {
    println!("CPU of one thread, µs for each triangle (times that of the grid); medians of {runs} runs.\n");
    println!(
        "| triangles | shape | assetc, flat | assetc, smooth | pak, flat | pak, smooth |\n|---|---|---|---|---|---|"
    );
    for &count in counts {
        let count = count as u32;
        let shapes = [
            ("grid", Shape::grid(count)),
            ("fan", Shape::fans(count, 1)),
            ("fans", Shape::fans(count, 8)),
            ("cones", Shape::fans(count, (count / 900).max(1))),
            ("double cone", Shape::double_cone(count)),
            ("book", Shape::book(count)),
            ("soup fan", Shape::fans(count, 1).exploded()),
            ("point", Shape::point(count)),
            ("points", Shape::points(count)),
            ("comb", Shape::comb(count)),
        ];
        let mut grid = [f64::NAN; 4];
        for (name, shape) in shapes {
            let triangles = (shape.indices.len() / 3) as f64;
            let mut cells = String::new();
            for (column, (smooth, with_pak)) in
                [(false, false), (true, false), (false, true), (true, true)].into_iter().enumerate()
            {
                let glb = shape.glb(smooth);
                let micros = (0..runs).map(|_| cpu(&glb, with_pak) * 1e6 / triangles);
                let micros = median(&micros.collect::<Vec<_>>());
                if name == "grid" {
                    grid[column] = micros;
                }
                cells += &format!(" {micros:.2} ({:.1}) |", micros / grid[column]);
            }
            println!("| {count} | {name} |{cells}");
        }
    }
}

/// Seconds of CPU for one file, in a fresh project.
fn cpu(glb: &[u8], with_pak: bool) -> f64 {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let root = dir.path();
    let write = |path: &str, bytes: &[u8]| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    };
    write("assets/shape.glb", glb);
    let mut command = if with_pak {
        write("assets/mesh.toml", b"[mesh]\nsrc = 'shape.glb'\nlod = true\nshadow = true\nmeshlets = true\n");
        write("assets/all.toml", b"[content]\n[[content.group]]\nassets = ['mesh.toml']\n");
        let mut command = Command::new(pak());
        command.args(["bake", "-q", "-j", "1"]).arg(root.join("assets/all.toml")).arg(root.join("all.pak"));
        command
    } else {
        let mut command = Command::new(assetc());
        command.args(["-q", "-j", "1", "-C"]).arg(root);
        command
    };
    command.env("KILN_CACHE", "off").stdout(Stdio::null()).stderr(Stdio::null());
    process::run(&mut command).map_or(f64::NAN, |cost| cost.cpu)
}
