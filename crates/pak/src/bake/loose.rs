//! Loose sources as a pak: baked on demand while a game is being made.

use super::{Bake, BakeError, Baked};
use crate::PakBuf;
use kiln_engine::{Code, Diag};
use std::path::PathBuf;
use std::sync::Arc;

/// A content file whose pak is baked again when sources changed. Put it on top of an [`Overlay`](crate::Overlay), and
/// what is edited shows up.
#[derive(Debug)]
pub struct Loose {
    src: PathBuf,
    dst: PathBuf,
    pak: Arc<PakBuf>,
}

impl Loose {
    /// Bakes `src` into `dst`, which is kept for the next time, and opens it.
    pub fn open(src: impl Into<PathBuf>, dst: impl Into<PathBuf>) -> Result<Loose, BakeError> {
        let (src, dst) = (src.into(), dst.into());
        Bake::new(&*src, &*dst).run()?;
        let pak = open(&dst)?;
        Ok(Loose { src, dst, pak })
    }

    /// The pak as it was last baked.
    pub fn pak(&self) -> Arc<PakBuf> {
        self.pak.clone()
    }

    /// Bakes what changed. The new pak is opened if anything did; who has the old one keeps it.
    pub fn refresh(&mut self) -> Result<Baked, BakeError> {
        let baked = Bake::new(&*self.src, &*self.dst).run()?;
        if !baked.unchanged {
            self.pak = open(&self.dst)?;
        }
        Ok(baked)
    }
}

fn open(path: &std::path::Path) -> Result<Arc<PakBuf>, BakeError> {
    let pak = PakBuf::open(path);
    let pak =
        pak.map_err(|e| Diag::new(Code::Unreadable, format!("cannot open it: {e}")).path(path.display()))?;
    Ok(Arc::new(pak))
}
