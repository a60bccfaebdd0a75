//! Builds a scene of one instanced triangle, validates it and prints its draws: `cargo run -p kiln-ir --example triangle`.

#![allow(clippy::print_stdout)]

use kiln_ir::{Mesh, MeshId, Node, NodeId, Primitive, Scene, Trs, ValidationError};

fn main() -> Result<(), ValidationError> {
    let triangle = Primitive {
        positions: vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
        indices: vec![0, 1, 2],
        ..Primitive::default()
    };
    let instances = [0.0, 2.0].map(|x| Trs { translation: [x, 0.0, 0.0], ..Trs::IDENTITY });
    let scene = Scene {
        nodes: vec![Node { mesh: Some(MeshId(0)), instances: instances.to_vec(), ..Node::default() }],
        roots: vec![NodeId(0)],
        meshes: vec![Mesh { name: "triangle".to_owned(), primitives: vec![triangle], ..Mesh::default() }],
        ..Scene::default()
    };
    let scene = scene.validate()?;
    for draw in scene.draws() {
        println!("mesh {} at {:?}", draw.mesh.0, draw.world.point([0.0; 3]));
    }
    Ok(())
}
