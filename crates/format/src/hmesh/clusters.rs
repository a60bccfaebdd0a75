//! Cluster LODs: a hierarchy of clusters for continuous level of detail, and the selection of a cut.
//!
//! Clusters of the source triangles are collected into groups; the triangles of a group are simplified together, with
//! the vertices between groups locked, and divided into fewer, coarser clusters, which are in groups of the next
//! depth. So a group and the clusters that refine to it are the same part of the surface with the same border, and
//! any choice between the two is free of cracks. Error and bounding sphere of a group are at least those of the
//! groups below it. So a threshold for the projected error selects a cut that covers the surface once.
//!
//! ```
//! use kiln_format::hmesh::{CutView, HmeshView};
//!
//! /// Draws the mesh with an error of at most one pixel.
//! fn draw(file: &[u8], camera: [f32; 3], pixels_at_distance_one: f32) -> Result<(), kiln_format::Error> {
//!     let mesh = HmeshView::read(file)?;
//!     let Some(clusters) = mesh.clusters() else { return Ok(()) };
//!     let view = CutView { camera, scale: pixels_at_distance_one, near: 0.1, threshold: 1.0 };
//!     for cluster in clusters.cut(&view) {
//!         let geometry = clusters.geometry(&cluster);
//!         let _to_draw = (geometry.vertices, geometry.triangles);
//!     }
//!     Ok(())
//! }
//! # assert!(draw(b"HMSH", [0.0; 3], 1.0).is_err());
//! ```

mod tables;
#[cfg(feature = "tools")]
mod write;

pub(super) use self::tables::{check_clusters, cluster_at};
#[cfg(feature = "tools")]
pub(super) use self::write::ClusterChunks;
#[cfg(feature = "tools")]
pub use self::write::{ClusterPart, ClusterParts, GroupPart};

use super::records::*;
use super::view::HmeshView;
use crate::Array;
use crate::pod::pod;

/// The [`Cluster::refined`] of a cluster of source triangles.
pub const NO_GROUP: u32 = u32::MAX;

/// The [`ClusterGroup::error`] of a group that no coarser clusters replace.
pub const ROOT_ERROR: f32 = f32::MAX;

/// Upper bound on the bytes of a page.
pub const MAX_PAGE_SIZE: u32 = 128 << 10;

pod! {
    /// Clusters that coarser clusters replace together.
    #[derive(Default)]
    pub struct ClusterGroup {
        /// The centre of the sphere that the error is projected from.
        pub center: [f32; 3],
        /// The radius of the sphere, which contains the spheres of the groups that its clusters refine to.
        pub radius: f32,
        /// The error of drawing the coarser clusters in place of this group, in units of the positions;
        /// [`ROOT_ERROR`] if there are none.
        pub error: f32,
        /// The submesh of its triangles.
        pub submesh: u32,
        /// Index of the page with the geometry of its clusters.
        pub page: u32,
        /// First cluster in `CLST`.
        pub first_cluster: u32,
        /// Number of clusters.
        pub cluster_count: u32,
        /// Number of clusters that replace it, those whose `refined` is this group; 0 for a root.
        pub coarse_count: u32,
        /// Number of simplifications between its triangles and those of the source.
        pub depth: u32,
    }
}

pod! {
    /// A cluster: a meshlet of the source triangles, or of a simplified group.
    #[derive(Default)]
    pub struct Cluster {
        /// The bounding sphere and the normal cone of its triangles, for culling.
        pub bounds: MeshletBounds,
        /// Index of the group that it is in.
        pub group: u32,
        /// Index of the group that it is a simplification of, or [`NO_GROUP`].
        pub refined: u32,
        /// Byte offset of its geometry in the page of its group.
        pub offset: u32,
        /// Number of vertices.
        pub vertex_count: u16,
        /// Number of triangles.
        pub triangle_count: u16,
    }
}

pod! {
    /// A page: the geometry of the clusters of consecutive groups, to be loaded in one piece.
    #[derive(Eq, Default)]
    pub struct ClusterPage {
        /// Byte offset of the page in `CLPG`.
        pub offset: u64,
        /// Number of bytes, at most [`MAX_PAGE_SIZE`].
        pub size: u32,
        /// First group in `CLGR`.
        pub first_group: u32,
        /// Number of groups.
        pub group_count: u32,
        /// Padding; zero in every valid file.
        pub pad: u32,
    }
}

/// Alignment of a page in bytes.
pub(super) const PAGE_ALIGNMENT: u32 = 16;

impl Cluster {
    /// Returns the number of bytes of its geometry in its page.
    pub(super) fn size(&self) -> u32 {
        let vertices = u32::from(self.vertex_count) * (4 + GpuVertex::SIZE as u32);
        vertices + (u32::from(self.triangle_count) * 3).next_multiple_of(4)
    }
}

impl ClusterGroup {
    /// Returns whether the group is too coarse to be replaced by the clusters above it in a view. If so, the same
    /// holds for every group above it.
    pub fn is_refined(&self, view: &CutView) -> bool {
        // The distance at which the error has the size of the threshold, and from there on is below it.
        let reach = f64::from(self.error) * f64::from(view.scale) / f64::from(view.threshold);
        let distance = |axis: usize| f64::from(self.center[axis]) - f64::from(view.camera[axis]);
        let square = distance(0) * distance(0) + distance(1) * distance(1) + distance(2) * distance(2);
        let limit = reach + f64::from(self.radius);
        f64::from(view.near) < reach && square < limit * limit
    }
}

/// The view that a cut is selected for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutView {
    /// The position of the camera in the space of the mesh.
    pub camera: [f32; 3],
    /// The size in pixels of an object of size 1 at distance 1: half the height of the viewport, divided by the tangent
    /// of half the vertical field of view.
    pub scale: f32,
    /// The distance of the near plane.
    pub near: f32,
    /// The largest error in pixels.
    pub threshold: f32,
}

/// The geometry of one cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClusterGeometry<'a> {
    /// The indices of its vertices in `VTXS`, for attributes that are not in the page.
    pub indices: Array<'a, u32>,
    /// Its vertices.
    pub vertices: Array<'a, GpuVertex>,
    /// Its triangles, as indices into its vertices.
    pub triangles: Array<'a, [u8; 3]>,
}

impl<'a> ClusterGeometry<'a> {
    /// Returns the geometry of a cluster from the bytes of its page; empty if the page is too short.
    pub fn of(page: &'a [u8], cluster: &Cluster) -> Self {
        let geometry = || {
            let bytes = page.get(cluster.offset as usize..)?.get(..cluster.size() as usize)?;
            let vertices = usize::from(cluster.vertex_count);
            let (indices, rest) = bytes.split_at_checked(vertices * 4)?;
            let (vertices, rest) = rest.split_at_checked(vertices * GpuVertex::SIZE)?;
            let triangles = rest.get(..usize::from(cluster.triangle_count) * 3)?;
            Some(Self {
                indices: Array::new(indices),
                vertices: Array::new(vertices),
                triangles: Array::new(triangles),
            })
        };
        geometry().unwrap_or_default()
    }
}

/// The hierarchy of clusters of a mesh.
#[derive(Clone, Copy, Debug)]
pub struct ClusterHierarchy<'a> {
    groups: Array<'a, ClusterGroup>,
    clusters: Array<'a, Cluster>,
    pages: Array<'a, ClusterPage>,
    data: &'a [u8],
    at: u64,
}

impl<'a> HmeshView<'a> {
    /// Returns the hierarchy of clusters; `None` if the mesh has none.
    pub fn clusters(&self) -> Option<ClusterHierarchy<'a>> {
        self.has(ChunkId::ClusterGroups).then(|| ClusterHierarchy {
            groups: Array::new(self.payload(ChunkId::ClusterGroups)),
            clusters: Array::new(self.payload(ChunkId::Clusters)),
            pages: Array::new(self.payload(ChunkId::ClusterPageTable)),
            data: self.payload(ChunkId::ClusterPages),
            at: self.at(ChunkId::ClusterPages),
        })
    }
}

impl<'a> ClusterHierarchy<'a> {
    /// Returns the groups, from the greatest error to the smallest.
    pub fn groups(&self) -> Array<'a, ClusterGroup> {
        self.groups
    }

    /// Returns the clusters, group by group.
    pub fn clusters(&self) -> Array<'a, Cluster> {
        self.clusters
    }

    /// Returns the pages. The geometry of the coarsest groups is in the first.
    pub fn pages(&self) -> Array<'a, ClusterPage> {
        self.pages
    }

    /// Returns the byte offset of the first page in the file, for loading pages one by one.
    pub fn pages_at(&self) -> u64 {
        self.at
    }

    /// Returns the bytes of a page; empty if there is no such page.
    pub fn page(&self, page: u32) -> &'a [u8] {
        let bytes = || {
            let ClusterPage { offset, size, .. } = self.pages.get(page as usize)?;
            self.data.get(usize::try_from(offset).ok()?..)?.get(..size as usize)
        };
        bytes().unwrap_or_default()
    }

    /// Returns the geometry of a cluster.
    pub fn geometry(&self, cluster: &Cluster) -> ClusterGeometry<'a> {
        let page = self.groups.get(cluster.group as usize).map_or(u32::MAX, |group| group.page);
        ClusterGeometry::of(self.page(page), cluster)
    }

    /// Returns the coarsest clusters whose error in a view is at most the threshold. Together they cover the surface
    /// once. Clusters that are not visible are not left out: [`Cluster::bounds`] serves for that.
    pub fn cut(&self, view: &CutView) -> impl Iterator<Item = Cluster> + use<'a> {
        self.cut_of_pages(view, u32::MAX)
    }

    /// Returns the cut for a view of which only the first `pages` pages are loaded: where finer clusters are not loaded,
    /// coarser ones take their place.
    pub fn cut_of_pages(&self, view: &CutView, pages: u32) -> impl Iterator<Item = Cluster> + use<'a> {
        let (groups, clusters, view) = (self.groups, self.clusters, *view);
        let is_refined = move |group: &ClusterGroup| group.page < pages && group.is_refined(&view);
        let is_drawn = move |cluster: &Cluster| {
            let refined = groups.get(cluster.refined as usize).filter(|_| cluster.refined != NO_GROUP);
            !refined.is_some_and(|group| is_refined(&group))
        };
        let own = move |group: ClusterGroup| {
            clusters.range(group.first_cluster, group.cluster_count).unwrap_or_default()
        };
        groups.iter().filter(is_refined).flat_map(own).filter(is_drawn)
    }
}
