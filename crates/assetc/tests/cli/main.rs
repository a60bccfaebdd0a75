//! `assetc` end to end: the real executable in a directory of its own.

mod basics;
mod cache_server;
mod commands;
mod concurrency;
mod config;
mod damage;
mod determinism;
mod embed;
mod fbx;
mod fonts;
mod histories;
mod kills;
mod lights;
mod limits;
#[path = "../../../import/tests/gltf/model.rs"]
#[allow(dead_code, reason = "the builder is shared with the tests of the importer")]
mod model;
mod models;
mod packs;
mod permissions;
mod project;
#[path = "../../../remote-cache/tests/store/relay.rs"]
mod relay;
mod report;
#[path = "../../../remote-cache/tests/store/server.rs"]
#[allow(dead_code, reason = "the server is shared with the tests of the store")]
mod server;
mod shader_attacks;
#[cfg(feature = "glsl")]
mod shaders;
mod store;
mod strange;
mod textures;
mod watch;
