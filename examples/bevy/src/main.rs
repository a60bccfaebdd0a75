//! Loads everything of a pack, a pak or a directory without a window, and counts what was loaded.
//!
//! ```sh
//! examples/bevy/run        # the showcase's pack, the game's pak, and a hot reload
//! ```

use bevy_app::{App, ScheduleRunnerPlugin, TaskPoolPlugin};
use bevy_asset::io::{AssetSourceBuilder, AssetSourceId};
use bevy_asset::{
    AssetApp, AssetEvent, AssetPlugin, AssetServer, Assets, RecursiveDependencyLoadState, UntypedHandle,
};
use bevy_ecs::message::{MessageCursor, Messages};
use bevy_image::Image;
use bevy_kiln::archive::{self, Archive, Pack};
use bevy_kiln::{KilnPlugin, MaterialTable, Model, hot_reload};
use bevy_mesh::Mesh;
use pak::PakBuf;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time after which a load or a reload counts as lost.
const TIMEOUT: Duration = Duration::from_secs(120);

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["pack", file] => {
            let pack = Arc::new(Pack::open(file)?);
            count(load(archive::source(pack.clone()), &pack.paths())?.0)
        }
        ["pak", file] => {
            let pak = Arc::new(PakBuf::open(file)?);
            count(load(archive::source(pak.clone()), &pak.paths())?.0)
        }
        ["watch", directory, address, file, source] => reload(directory, address, file, source),
        _ => {
            eprintln!("usage: bevy-kiln pack FILE | pak FILE | watch DIRECTORY ADDRESS FILE SOURCE");
            std::process::exit(2);
        }
    }
}

/// Loads all paths that have a loader, with everything they depend on.
fn load(source: AssetSourceBuilder, paths: &[String]) -> Result<(App, Vec<UntypedHandle>), Box<dyn Error>> {
    let mut app = App::new();
    // The sources come before the plugin that reads them.
    app.register_asset_source(AssetSourceId::from("kiln"), source);
    app.add_plugins((
        TaskPoolPlugin::default(),
        ScheduleRunnerPlugin::default(),
        AssetPlugin { watch_for_changes_override: Some(true), ..Default::default() },
        KilnPlugin { bc7: true },
    ));
    app.finish();
    app.cleanup();
    let server = app.world().resource::<AssetServer>().clone();
    let load = |path: &String| {
        let (_, extension) = path.rsplit_once('.')?;
        let path = format!("kiln://{path}");
        match extension {
            "hmesh" | "mesh" => Some(server.load::<Model>(path).untyped()),
            "hmat" => Some(server.load::<MaterialTable>(path).untyped()),
            "ktx2" | "bitmap" => Some(server.load::<Image>(path).untyped()),
            _ => None,
        }
    };
    let handles: Vec<UntypedHandle> = paths.iter().filter_map(load).collect();
    let start = Instant::now();
    for handle in &handles {
        loop {
            match server.recursive_dependency_load_state(handle) {
                RecursiveDependencyLoadState::Loaded => break,
                RecursiveDependencyLoadState::Failed(error) => return Err(error.to_string().into()),
                _ if start.elapsed() > TIMEOUT => return Err("the assets were not loaded in time".into()),
                _ => app.update(),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok((app, handles))
}

/// Prints what was loaded, and checks that it is whole.
fn count(app: App) -> Result<(), Box<dyn Error>> {
    let world = app.world();
    let models = world.resource::<Assets<Model>>();
    let meshes = world.resource::<Assets<Mesh>>();
    let images = world.resource::<Assets<Image>>();
    let tables = world.resource::<Assets<MaterialTable>>();
    let (mut parts, mut vertices, mut triangles) = (0, 0, 0);
    for (_, model) in models.iter() {
        for part in &model.parts {
            let mesh = meshes.get(&part.mesh).ok_or("a part without its mesh")?;
            (parts, vertices) = (parts + 1, vertices + mesh.count_vertices());
            triangles += mesh.indices().map_or(0, |indices| indices.len()) / 3;
        }
    }
    let bytes: usize = images.iter().filter_map(|(_, image)| image.data.as_ref()).map(Vec::len).sum();
    let (mut materials, mut textures) = (0, 0);
    for (_, table) in tables.iter() {
        materials += table.materials.len();
        for texture in table.materials.iter().flat_map(|material| material.textures.iter().flatten()) {
            images.get(texture).ok_or("a material without its texture")?;
            textures += 1;
        }
    }
    println!(
        "{} models of {parts} parts: {vertices} vertices, {triangles} triangles; {} images of {bytes} bytes; \
         {} material tables of {materials} materials with {textures} textures",
        models.len(),
        images.len(),
        tables.len()
    );
    Ok(())
}

/// Loads a texture of a directory, changes its source, and waits until the watch has had it loaded again.
fn reload(directory: &str, address: &str, file: &str, source: &str) -> Result<(), Box<dyn Error>> {
    let watched = hot_reload::source(directory, Some(address.to_owned()));
    let (mut app, handles) = load(watched, &[file.to_owned()])?;
    let id = handles.first().ok_or("a file without a loader")?.id().typed::<Image>();
    let texels =
        |app: &App| app.world().resource::<Assets<Image>>().get(id).and_then(|image| image.data.clone());
    let (before, mut cursor) = (texels(&app), MessageCursor::<AssetEvent<Image>>::default());
    // The watcher is connected before the source changes, or the change would be none.
    std::thread::sleep(Duration::from_millis(500));
    invert(Path::new(source))?;
    let start = Instant::now();
    while start.elapsed() < TIMEOUT {
        app.update();
        let messages = app.world().resource::<Messages<AssetEvent<Image>>>();
        let is_new = cursor.read(messages).any(|event| event.is_modified(id));
        if is_new && texels(&app) != before {
            println!("{file} was loaded again with other texels");
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err("the texture was not loaded again".into())
}

/// Replaces the colours of a BMP image by their opposites.
fn invert(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut bmp = std::fs::read(path)?;
    let start = bmp.get(10..14).and_then(|bytes| bytes.try_into().ok()).ok_or("a short file")?;
    let texels = bmp.get_mut(u32::from_le_bytes(start) as usize..).ok_or("a short file")?;
    texels.iter_mut().for_each(|byte| *byte = !*byte);
    Ok(std::fs::write(path, bmp)?)
}
