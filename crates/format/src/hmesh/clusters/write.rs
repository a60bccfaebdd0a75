//! The layout of a cluster hierarchy: order of the groups, pages, geometry.

use alloc::vec::Vec;

use super::*;
use crate::Error;
use crate::bytes::Le;
use crate::pod::as_bytes;

/// A group, in the input of the writer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroupPart {
    /// The centre of the sphere that the error is projected from.
    pub center: [f32; 3],
    /// The radius of the sphere.
    pub radius: f32,
    /// The error of drawing coarser clusters in its place; [`ROOT_ERROR`] if there are none.
    pub error: f32,
    /// The submesh of its triangles.
    pub submesh: u32,
    /// Number of simplifications between its triangles and those of the source.
    pub depth: u32,
    /// Number of its clusters.
    pub cluster_count: u32,
}

/// A cluster, in the input of the writer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClusterPart {
    /// The bounding sphere and the normal cone of its triangles.
    pub bounds: MeshletBounds,
    /// Index of the group that it is a simplification of, or [`NO_GROUP`].
    pub refined: u32,
    /// Number of vertices.
    pub vertex_count: u16,
    /// Number of triangles.
    pub triangle_count: u16,
}

/// A hierarchy of clusters, in the input of the writer: clusters in the order of their groups, vertices and triangles
/// in the order of their clusters.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClusterParts<'a> {
    /// The groups, in any order.
    pub groups: &'a [GroupPart],
    /// The clusters of all groups.
    pub clusters: &'a [ClusterPart],
    /// The vertex indices of all clusters.
    pub vertices: &'a [u32],
    /// The triangles of all clusters, as indices into the vertices of the cluster.
    pub triangles: &'a [[u8; 3]],
}

/// The payloads of the chunks.
#[derive(Default)]
pub(in crate::hmesh) struct ClusterChunks {
    pub(in crate::hmesh) groups: Vec<ClusterGroup>,
    pub(in crate::hmesh) clusters: Vec<Cluster>,
    pub(in crate::hmesh) pages: Vec<ClusterPage>,
    pub(in crate::hmesh) data: Vec<u8>,
}

/// The starts of a group in the lists of [`ClusterParts`].
#[derive(Clone, Copy)]
struct Start {
    cluster: usize,
    vertex: usize,
    triangle: usize,
}

impl ClusterChunks {
    /// Orders the groups from the greatest error to the smallest, and assigns them to pages.
    pub(in crate::hmesh) fn of(parts: &ClusterParts<'_>, vertices: &[GpuVertex]) -> Result<Self, Error> {
        let starts = starts(parts)?;
        let mut order: Vec<u32> = (0..parts.groups.len() as u32).collect();
        order.sort_by(|&a, &b| {
            let (x, y) = (&parts.groups[a as usize], &parts.groups[b as usize]);
            // A group is after those that replace it, also where the errors are equal.
            y.error.total_cmp(&x.error).then(y.depth.cmp(&x.depth)).then(a.cmp(&b))
        });
        let mut places = alloc::vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&group, place)| places[group as usize] = place);
        let mut coarse_counts = alloc::vec![0u32; order.len()];
        for cluster in parts.clusters.iter().filter(|cluster| cluster.refined != NO_GROUP) {
            let refined: &u32 = places.get(cluster.refined as usize).ok_or(Error::TooLarge {
                field: "refined",
                found: cluster.refined.into(),
                max: (order.len() as u64).saturating_sub(1),
            })?;
            coarse_counts[*refined as usize] += 1;
        }
        let mut chunks = Self::default();
        for (&group, place) in order.iter().zip(0u32..) {
            let coarse_count = coarse_counts[place as usize];
            chunks.add(
                parts,
                starts[group as usize],
                &parts.groups[group as usize],
                coarse_count,
                &places,
                vertices,
            )?;
        }
        chunks.end_page();
        Ok(chunks)
    }

    fn add(
        &mut self,
        parts: &ClusterParts<'_>,
        mut start: Start,
        group: &GroupPart,
        coarse_count: u32,
        places: &[u32],
        vertices: &[GpuVertex],
    ) -> Result<(), Error> {
        let own = &parts.clusters[start.cluster..start.cluster + group.cluster_count as usize];
        let number = self.groups.len() as u32;
        let record = |part: &ClusterPart| Cluster {
            bounds: part.bounds,
            group: number,
            refined: places.get(part.refined as usize).copied().unwrap_or(NO_GROUP),
            offset: 0,
            vertex_count: part.vertex_count,
            triangle_count: part.triangle_count,
        };
        let size: u64 = own.iter().map(|part| u64::from(record(part).size())).sum();
        if size > u64::from(MAX_PAGE_SIZE) {
            return Err(Error::TooLarge { field: "size of a group", found: size, max: MAX_PAGE_SIZE.into() });
        }
        let used = self.pages.last().map_or(u64::MAX, |page| self.data.len() as u64 - page.offset);
        if used.saturating_add(size) > u64::from(MAX_PAGE_SIZE) {
            self.end_page();
            self.pages.push(ClusterPage {
                offset: self.data.len() as u64,
                first_group: number,
                ..ClusterPage::default()
            });
        }
        let page = self.pages.len() as u32 - 1;
        let Some(current) = self.pages.last_mut() else { return Ok(()) };
        current.group_count += 1;
        self.groups.push(ClusterGroup {
            center: group.center,
            radius: group.radius,
            error: group.error,
            submesh: group.submesh,
            page,
            first_cluster: self.clusters.len() as u32,
            cluster_count: group.cluster_count,
            coarse_count,
            depth: group.depth,
        });
        for part in own {
            let offset = (self.data.len() as u64 - current.offset) as u32;
            self.clusters.push(Cluster { offset, ..record(part) });
            let (vertex_end, triangle_end) = (
                start.vertex + usize::from(part.vertex_count),
                start.triangle + usize::from(part.triangle_count),
            );
            let indices = &parts.vertices[start.vertex..vertex_end];
            self.data.extend_from_slice(as_bytes(indices));
            for &index in indices {
                let vertex = vertices.get(index as usize).ok_or(Error::TooLarge {
                    field: "vertex",
                    found: index.into(),
                    max: (vertices.len() as u64).saturating_sub(1),
                })?;
                vertex.put(&mut self.data);
            }
            self.data.extend_from_slice(as_bytes(&parts.triangles[start.triangle..triangle_end]));
            self.data.resize(self.data.len().next_multiple_of(4), 0);
            (start.vertex, start.triangle) = (vertex_end, triangle_end);
        }
        Ok(())
    }

    /// Pads the last page, and records its size.
    fn end_page(&mut self) {
        self.data.resize(self.data.len().next_multiple_of(PAGE_ALIGNMENT as usize), 0);
        if let Some(page) = self.pages.last_mut() {
            page.size = (self.data.len() as u64 - page.offset) as u32;
        }
    }
}

/// Returns the start of each group, after checking that the lists have the lengths that the counts say.
fn starts(parts: &ClusterParts<'_>) -> Result<Vec<Start>, Error> {
    let mut next = Start { cluster: 0, vertex: 0, triangle: 0 };
    let mut starts = Vec::with_capacity(parts.groups.len());
    for group in parts.groups {
        starts.push(next);
        let end = next.cluster.saturating_add(group.cluster_count as usize);
        for part in parts.clusters.get(next.cluster..end).unwrap_or_default() {
            next.vertex += usize::from(part.vertex_count);
            next.triangle += usize::from(part.triangle_count);
        }
        next.cluster = end;
    }
    for (field, found, max) in [
        ("clusters of all groups", next.cluster, parts.clusters.len()),
        ("vertices of all clusters", next.vertex, parts.vertices.len()),
        ("triangles of all clusters", next.triangle, parts.triangles.len()),
    ] {
        if found != max {
            return Err(Error::TooLarge { field, found: found as u64, max: max as u64 });
        }
    }
    Ok(starts)
}
