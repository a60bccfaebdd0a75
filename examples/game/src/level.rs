//! The content of a level: the objects of its scene with their meshes and materials, and an animation.

use pak::mesh::Role;
use pak::{Pak, PakBuf};

/// Reads everything that the level shows.
///
/// # Errors
///
/// [`pak::Error`] if an asset is missing or damaged.
pub(crate) fn load(pak: &PakBuf) -> Result<(), pak::Error> {
    for place in pak.read_scene("hall")?.refs() {
        println!("{} at {:?}", place.id().unwrap_or("something"), place.translation());
        if let Some(key) = place.data("require").and_then(|value| value.as_str()) {
            println!("  opens with the {key}");
        }
        let Some(mesh) = place.mesh() else { continue };
        // Straight from the file, or decoded once: either way aligned, and ready for a buffer.
        for part in pak.read_mesh_id(mesh)?.primitives() {
            let word = if part.role() == Role::Shadow { "shadow" } else { "mesh" };
            println!(
                "  {word}: {} vertices in {} bytes, {} triangles",
                part.vertex_count(),
                part.vertex_data().len(),
                part.lods()[0].triangle_count()
            );
        }
        for material in place.materials() {
            let info = pak.read_material_id(*material).expect("scenes name materials that are there");
            let color = pak.read_bitmap_id(info.color)?;
            println!("  made of {:?} texels in {} levels", color.extent(), color.mip_levels());
        }
    }
    let swing = pak.read_animation("swing")?;
    for time in [0.0, 0.25, 0.5] {
        for (target, pose) in swing.sample(time) {
            println!("{target} at {time} s: {:?}", pose.rotation.unwrap_or_default());
        }
    }
    Ok(())
}
