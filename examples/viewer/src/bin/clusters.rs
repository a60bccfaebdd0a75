//! Draws cuts of a mesh with cluster LODs into an image, one for each error threshold, with a colour for each cluster.
//!
//! ```sh
//! assetc convert suzanne.glb -o suzanne.hmesh --mesh-clusters true
//! cargo run --manifest-path examples/viewer/Cargo.toml --no-default-features --bin clusters -- \
//!     suzanne.hmesh clusters.png 0 0.5 2 8
//! ```
//!
//! The thresholds are in pixels of the image. A software rasteriser draws the triangles, so no GPU is needed; an engine
//! would test the clusters of [`ClusterHierarchy::groups`] in a compute shader.
//!
//! [`ClusterHierarchy::groups`]: kiln_format::hmesh::ClusterHierarchy::groups

use std::error::Error;
use std::fs::File;
use std::process::ExitCode;

use kiln_format::Format;
use kiln_format::hmesh::{Cluster, ClusterHierarchy, CompressedHmesh, CutView, HMesh, HmeshView, MeshBounds};

/// The side of the square of one cut in pixels.
const CELL: usize = 300;
/// Samples per pixel along each axis.
const SAMPLES: usize = 2;
const SIDE: usize = CELL * SAMPLES;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let [mesh, image, thresholds @ ..] = args.as_slice() else {
        eprintln!("usage: clusters <file.hmesh> <image.png> <threshold in pixels>...");
        return ExitCode::from(2);
    };
    match run(mesh, image, thresholds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mesh: &str, image: &str, thresholds: &[String]) -> Result<(), Box<dyn Error>> {
    let mut bytes = std::fs::read(mesh)?;
    if CompressedHmesh::is_compressed(&bytes) {
        let mesh = CompressedHmesh::read(&bytes)?;
        let mut decoded = vec![0; usize::try_from(mesh.decoded_size())?];
        mesh.decode_into(&mut decoded)?;
        bytes = decoded;
    }
    HMesh.verify(&bytes)?;
    let mesh = HmeshView::read(&bytes)?;
    let clusters = mesh.clusters().ok_or("the mesh has no clusters: build it with mesh.clusters: true")?;
    let camera = Camera::around(&mesh.bounds());
    let mut cells = Vec::new();
    for text in thresholds {
        // A threshold of 0 asks for the finest clusters; the smallest number above it does that.
        let threshold = text.parse::<f32>()?.max(f32::MIN_POSITIVE);
        let view = CutView { camera: camera.eye, scale: camera.scale, near: camera.near, threshold };
        let mut cell = Cell::new();
        let (mut count, mut triangles) = (0, 0);
        for cluster in clusters.cut(&view) {
            count += 1;
            triangles += usize::from(cluster.triangle_count);
            cell.draw(&camera, &clusters, &cluster);
        }
        println!("error of at most {text} pixels: {count} clusters, {triangles} triangles");
        cells.push(cell.texels());
    }
    let width = CELL * cells.len();
    let mut texels = vec![0; width * CELL * 3];
    for (column, cell) in cells.iter().enumerate() {
        for (y, row) in cell.chunks_exact(CELL * 3).enumerate() {
            texels[(y * width + column * CELL) * 3..][..CELL * 3].copy_from_slice(row);
        }
    }
    let mut encoder = png::Encoder::new(File::create(image)?, width as u32, CELL as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    encoder.write_header()?.write_image_data(&texels)?;
    Ok(())
}

/// A camera that sees the whole of a model from the front, above and to the right.
struct Camera {
    eye: [f32; 3],
    /// Right, up and back.
    axes: [[f32; 3]; 3],
    near: f32,
    /// The size in pixels of an object of size 1 at distance 1.
    scale: f32,
}

impl Camera {
    fn around(bounds: &MeshBounds) -> Camera {
        let back = normalize([0.55, 0.35, 0.9]);
        let right = normalize(cross([0.0, 1.0, 0.0], back));
        let radius = bounds.sphere_radius.max(1e-6);
        let distance = radius * 2.9;
        Camera {
            eye: [0, 1, 2].map(|i| bounds.sphere_center[i] + back[i] * distance),
            axes: [right, cross(back, right), back],
            near: distance - radius * 1.1,
            scale: CELL as f32 / 2.0 * 2.7,
        }
    }

    /// Returns a point in samples of the image, with its distance along the view.
    fn project(&self, point: [f32; 3]) -> [f32; 3] {
        let from_eye = [0, 1, 2].map(|i| point[i] - self.eye[i]);
        let [x, y, z] = self.axes.map(|axis| dot(axis, from_eye));
        let scale = self.scale * SAMPLES as f32 / -z;
        let centre = SIDE as f32 / 2.0;
        [centre + x * scale, centre - y * scale, -z]
    }
}

/// The image of one cut, with a depth buffer.
struct Cell {
    colors: Vec<[f32; 3]>,
    depths: Vec<f32>,
}

impl Cell {
    fn new() -> Cell {
        Cell { colors: vec![[1.0; 3]; SIDE * SIDE], depths: vec![f32::INFINITY; SIDE * SIDE] }
    }

    fn draw(&mut self, camera: &Camera, clusters: &ClusterHierarchy<'_>, cluster: &Cluster) {
        let geometry = clusters.geometry(cluster);
        let color = color(cluster.group.wrapping_mul(0x9e37_79b1) ^ cluster.offset);
        let positions: Vec<[f32; 3]> = geometry.vertices.iter().map(|vertex| vertex.position).collect();
        for triangle in geometry.triangles.iter() {
            let corners = triangle.map(|corner| positions[usize::from(corner)]);
            let [a, b, c] = corners;
            let edge = |to: [f32; 3]| [0, 1, 2].map(|i| to[i] - a[i]);
            // A lamp behind the camera. Both sides are lit, so that a hole is not mistaken for a back face.
            let facing = dot(normalize(cross(edge(b), edge(c))), camera.axes[2]).abs();
            self.fill(
                corners.map(|corner| camera.project(corner)),
                color.map(|c| c * (0.25 + 0.75 * facing)),
            );
        }
    }

    /// Fills a triangle where nothing is in front of it.
    fn fill(&mut self, [a, b, c]: [[f32; 3]; 3], color: [f32; 3]) {
        let area = |a: [f32; 3], b: [f32; 3], x: f32, y: f32| {
            (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])
        };
        let whole = area(a, b, c[0], c[1]);
        if whole == 0.0 || !whole.is_finite() {
            return;
        }
        let range = |axis: usize| {
            let (low, high) = (a[axis].min(b[axis]).min(c[axis]), a[axis].max(b[axis]).max(c[axis]));
            (low.floor().max(0.0) as usize)..(high.ceil().max(0.0) as usize + 1).min(SIDE)
        };
        for y in range(1) {
            for x in range(0) {
                let (px, py) = (x as f32 + 0.5, y as f32 + 0.5);
                let weights = [area(b, c, px, py), area(c, a, px, py), area(a, b, px, py)].map(|w| w / whole);
                // The reciprocal of the distance is linear on the screen.
                let depth = 1.0 / (weights[0] / a[2] + weights[1] / b[2] + weights[2] / c[2]);
                let at = y * SIDE + x;
                if weights.iter().all(|w| *w >= 0.0) && depth < self.depths[at] {
                    self.depths[at] = depth;
                    self.colors[at] = color;
                }
            }
        }
    }

    /// Averages the samples of each pixel.
    fn texels(&self) -> Vec<u8> {
        let pixel = |x: usize, y: usize| {
            let samples = (0..SAMPLES * SAMPLES)
                .map(|i| self.colors[(y * SAMPLES + i / SAMPLES) * SIDE + x * SAMPLES + i % SAMPLES]);
            let sum = samples.fold([0.0; 3], |sum, color| [0, 1, 2].map(|i| sum[i] + color[i]));
            sum.map(|s| (s / (SAMPLES * SAMPLES) as f32).sqrt() * 255.0).map(|s| s.round() as u8)
        };
        (0..CELL * CELL).flat_map(|i| pixel(i % CELL, i / CELL)).collect()
    }
}

/// Returns a light colour by the hash of a number.
fn color(number: u32) -> [f32; 3] {
    let mut hash = number.wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^= hash >> 16;
    [0, 8, 16].map(|shift| 0.12 + 0.7 * ((hash >> shift & 0xff) as f32 / 255.0).powi(2))
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn normalize(v: [f32; 3]) -> [f32; 3] {
    let length = dot(v, v).sqrt();
    if length > 0.0 { v.map(|x| x / length) } else { v }
}
