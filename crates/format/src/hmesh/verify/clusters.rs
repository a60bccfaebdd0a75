//! Full validation of the geometry of clusters: every index, every bound, and that the clusters of source triangles are
//! the triangles of the mesh.

use super::super::clusters::cluster_at;
use super::super::{Cluster, ClusterGroup, ClusterHierarchy, NO_GROUP};
use super::*;

impl HmeshView<'_> {
    /// Checks the hierarchy of clusters. `source` is the checksum of the triangles of all submeshes.
    pub(super) fn check_clusters(&self, source: TriangleChecksum, tolerance: Tolerance) -> Result<(), Error> {
        let Some(hierarchy) = self.clusters() else { return Ok(()) };
        let mut leaves = TriangleChecksum::default();
        for (number, cluster) in hierarchy.clusters().iter().enumerate() {
            let sum = self.check_cluster(&hierarchy, number, &cluster, tolerance)?;
            if cluster.refined == NO_GROUP {
                let group = hierarchy.groups().get(cluster.group as usize).unwrap_or_default();
                leaves.add(sum.of_submesh(group.submesh));
            }
        }
        if leaves != source {
            let why = "have other triangles at depth 0 than the submeshes";
            return Err(Error::Fault { at: self.at(ChunkId::Clusters), field: "clusters", why });
        }
        self.check_coarse_counts(&hierarchy)?;
        self.check_page_padding(&hierarchy)
    }

    fn check_cluster(
        &self,
        hierarchy: &ClusterHierarchy<'_>,
        number: usize,
        cluster: &Cluster,
        tolerance: Tolerance,
    ) -> Result<TriangleChecksum, Error> {
        let at = |offset: usize| cluster_at(self, number as u64, offset);
        let bounds = cluster.bounds;
        finite(at(offset_of!(MeshletBounds, center)), "center", &bounds.center)?;
        radius_at(at(offset_of!(MeshletBounds, radius)), "radius", bounds.radius)?;
        finite(at(offset_of!(MeshletBounds, cone_axis)), "cone_axis", &bounds.cone_axis)?;
        finite(at(offset_of!(MeshletBounds, cone_cutoff)), "cone_cutoff", &[bounds.cone_cutoff])?;
        let group = hierarchy.groups().get(cluster.group as usize).unwrap_or_default();
        let own = tolerance.around_sphere(bounds.center, bounds.radius);
        let of_group = tolerance.around_sphere(group.center, group.radius);
        let geometry = hierarchy.geometry(cluster);
        let page_at = hierarchy.pages().get(group.page as usize).map_or(0, |page| page.offset);
        let start = hierarchy.pages_at() + page_at + u64::from(cluster.offset);
        for (i, (index, vertex)) in geometry.indices.iter().zip(geometry.vertices).enumerate() {
            let at = start + 4 * i as u64;
            below(at, "vertex", index, self.desc().vertex_count)?;
            if Array::from(&[vertex][..])
                != Array::from(&[self.vertices().get(index as usize).unwrap_or_default()][..])
            {
                let why = "is not equal to the vertex of the mesh with its index";
                return Err(Error::Fault { at, field: "vertex", why });
            }
        }
        let triangles_at =
            start + geometry.indices.bytes().len() as u64 + geometry.vertices.bytes().len() as u64;
        let mut sum = TriangleChecksum::default();
        for (i, corners) in geometry.triangles.iter().enumerate() {
            for (j, &corner) in corners.iter().enumerate() {
                below(triangles_at + (3 * i + j) as u64, "corner", corner, cluster.vertex_count)?;
            }
            let vertex = |corner: u8| geometry.vertices.get(corner.into()).unwrap_or_default().position;
            let positions = corners.map(vertex);
            if has_area(positions) && !positions.iter().all(|&p| own.contains(p) && of_group.contains(p)) {
                let why = "does not contain all triangles of the cluster";
                return Err(Error::Fault { at: at(0), field: "sphere", why });
            }
            sum.triangle(corners.map(|corner| geometry.indices.get(corner.into()).unwrap_or_default()));
        }
        Ok(sum)
    }

    /// Checks that each group is replaced by as many clusters as it says: a group that none replaces would be a hole.
    fn check_coarse_counts(&self, hierarchy: &ClusterHierarchy<'_>) -> Result<(), Error> {
        let of = |group: u64| {
            let mut sum = TriangleChecksum::default();
            sum.triangle([group as u32; 3]);
            sum.hash
        };
        let refined = |cluster: Cluster| (cluster.refined != NO_GROUP).then(|| of(cluster.refined.into()));
        let found = hierarchy.clusters().iter().filter_map(refined).fold(0, u64::wrapping_add);
        let counted =
            |(number, group): (u64, ClusterGroup)| of(number).wrapping_mul(group.coarse_count.into());
        let expected = (0..).zip(hierarchy.groups()).map(counted).fold(0, u64::wrapping_add);
        if found != expected {
            let why = "is not the number of clusters that replace the group";
            return Err(Error::Fault { at: self.at(ChunkId::ClusterGroups), field: "coarse_count", why });
        }
        Ok(())
    }

    /// Checks that the bytes after the triangles of each cluster and after the last cluster of each page are zero.
    fn check_page_padding(&self, hierarchy: &ClusterHierarchy<'_>) -> Result<(), Error> {
        let zero = |page: u32, start: u32, bytes: &[u8]| match bytes.iter().position(|&byte| byte != 0) {
            None => Ok(()),
            Some(i) => {
                let page_at = hierarchy.pages().get(page as usize).map_or(0, |page| page.offset);
                let at = hierarchy.pages_at() + page_at + u64::from(start) + i as u64;
                Err(Error::Value { at, field: "padding", found: bytes[i].into(), expected: "0" })
            }
        };
        for group in hierarchy.groups() {
            let page = hierarchy.page(group.page);
            let mut end = 0;
            for cluster in
                hierarchy.clusters().range(group.first_cluster, group.cluster_count).unwrap_or_default()
            {
                let geometry = hierarchy.geometry(&cluster);
                let used = geometry.indices.bytes().len()
                    + geometry.vertices.bytes().len()
                    + geometry.triangles.bytes().len();
                let start = cluster.offset as usize + used;
                end = cluster.offset as usize + cluster.size() as usize;
                zero(group.page, start as u32, page.get(start..end).unwrap_or_default())?;
            }
            let last = hierarchy.pages().get(group.page as usize).unwrap_or_default();
            let number = group.first_cluster + group.cluster_count;
            let next = hierarchy.clusters().get(number as usize);
            let is_last = next.is_none_or(|next| next.offset == 0);
            if is_last {
                zero(group.page, end as u32, page.get(end..last.size as usize).unwrap_or_default())?;
            }
        }
        Ok(())
    }
}
