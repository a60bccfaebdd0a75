//! `unity-assetdb` end to end: the real executable on projects made for the purpose.

mod bake;
mod ownership;
mod project;
mod queries;
