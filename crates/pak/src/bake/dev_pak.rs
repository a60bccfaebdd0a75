//! A pak for development: baked from its sources on demand, for hot reload.

use super::{Bake, BakeError, Baked};
use crate::PakBuf;
use kiln_engine::{Code, Diag};
use std::path::PathBuf;
use std::sync::Arc;

/// A pak that is baked again when its sources change. As the top layer of an [`Overlay`](crate::Overlay) it enables hot
/// reload during development.
#[derive(Debug)]
pub struct DevPak {
    src: PathBuf,
    dst: PathBuf,
    pak: Arc<PakBuf>,
}

impl DevPak {
    /// Bakes the content file `src` into the pak `dst` and opens it. The pak is kept, so that the next bake is
    /// incremental.
    ///
    /// # Errors
    /// As for [`Bake::run`], and `unreadable` if the new pak cannot be opened.
    pub fn open(src: impl Into<PathBuf>, dst: impl Into<PathBuf>) -> Result<DevPak, BakeError> {
        let (src, dst) = (src.into(), dst.into());
        Bake::new(&*src, &*dst).run()?;
        let pak = open(&dst)?;
        Ok(DevPak { src, dst, pak })
    }

    /// Returns the pak of the last bake.
    pub fn pak(&self) -> Arc<PakBuf> {
        self.pak.clone()
    }

    /// Bakes the assets that changed and opens the new pak if any did. A clone of the old [`Arc`] stays valid.
    ///
    /// # Errors
    /// As for [`DevPak::open`]. The pak of the last successful bake stays open then.
    pub fn refresh(&mut self) -> Result<Baked, BakeError> {
        let baked = Bake::new(&*self.src, &*self.dst).run()?;
        if !baked.unchanged {
            self.pak = open(&self.dst)?;
        }
        Ok(baked)
    }
}

/// Another name of [`DevPak`].
pub type Loose = DevPak;

fn open(path: &std::path::Path) -> Result<Arc<PakBuf>, BakeError> {
    let pak = PakBuf::open(path);
    let pak = pak
        .map_err(|e| Diag::new(Code::Unreadable, format!("cannot open the pak: {e}")).path(path.display()))?;
    Ok(Arc::new(pak))
}
