//! `unity-assetdb` end to end: the real executable on projects made for the purpose.

mod bake;
mod changed_since;
mod check;
mod daily;
mod diagnostics;
mod edit;
mod explanations;
mod integrations;
#[cfg(unix)]
mod interrupts;
#[path = "../../../cli/tests/json_schema/validate.rs"]
mod json_schema;
mod names;
mod ownership;
mod project;
mod queries;
mod repository;
mod review;
mod servers;
mod unused;
mod warm;
