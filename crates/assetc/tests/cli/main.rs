//! End-to-end tests of the `assetc` executable, each in a temporary directory.

mod basics;
mod broken_sources;
mod cache;
mod cache_server;
mod checkpoint;
mod commands;
mod compressed_packs;
mod concurrency;
mod config;
mod convert;
mod damage;
mod determinism;
mod diagnostics;
mod edit_sequences;
mod embed;
mod failed_builds;
mod fbx;
mod fonts;
mod hdr;
mod interrupts;
#[path = "../../../cli/tests/json_schema/validate.rs"]
mod json_schema;
mod kills;
mod limits;
#[path = "../../../import/tests/gltf/model.rs"]
#[allow(dead_code, reason = "the builder is shared with the tests of the importer")]
mod model;
mod models;
mod pack_integrity;
mod packs;
mod partial_builds;
mod permissions;
mod project;
#[path = "../../../remote-cache/tests/store/relay.rs"]
mod relay;
mod report;
#[path = "../../../remote-cache/tests/store/server.rs"]
#[allow(dead_code, reason = "the server is shared with the tests of the cache")]
mod server;
mod shader_attacks;
#[cfg(feature = "glsl")]
mod shader_modules;
mod shaders;
mod single_files;
mod source_selection;
mod special_files;
mod standalone;
mod stats;
mod textures;
mod watch;
