//! `unity-assetdb` end to end: the real executable on projects made for the purpose.

mod bake;
mod diagnostics;
#[path = "../../../cli/tests/json_schema/validate.rs"]
mod json_schema;
mod names;
mod ownership;
mod project;
mod queries;
