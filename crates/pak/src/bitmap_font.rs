//! Bitmap fonts: a definition as AngelCode wrote it, and its pages.

use crate::Bitmap;

/// A font whose glyphs are parts of bitmaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitmapFont {
    def: String,
    pages: Vec<Bitmap>,
}

impl BitmapFont {
    /// Creates a font from its definition and its pages.
    pub fn new(def: String, pages: Vec<Bitmap>) -> BitmapFont {
        BitmapFont { def, pages }
    }

    /// The definition, as the source has it.
    pub fn def(&self) -> &str {
        &self.def
    }

    /// The pages, in the order of their numbers.
    pub fn pages(&self) -> impl ExactSizeIterator<Item = &Bitmap> {
        self.pages.iter()
    }
}
