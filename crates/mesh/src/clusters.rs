//! Growing clusters of triangles: the builder behind [`crate::meshlets`].
//!
//! A cluster grows by one triangle at a time, always along the vertices it already has: first triangles that need
//! no new vertex, then those that would be left dangling, then the rest; among equals the one that keeps the cluster
//! small and facing one way. (The rules are those meshoptimizer made known.) The candidates are kept in a list that
//! changes with each step instead of being found anew, which is what makes this fast. A cluster that has no
//! neighbours left goes on with the nearest triangle in space; a full one is followed by the neighbour of an earlier
//! one that is most closed in, so that few holes are left behind.

use crate::vector::{Vec3, cross, dot, length, scale, sub, unit};

/// Limits and taste of a cluster.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) vertices: usize,
    pub(crate) triangles: usize,
    /// From 0, only small, to 1, only facing one way.
    pub(crate) cone_weight: f32,
}

/// The triangles of each cluster, in the order they were added; the end of each cluster in the list.
pub(crate) struct Clusters {
    pub(crate) triangles: Vec<u32>,
    pub(crate) ends: Vec<u32>,
}

/// Clusters `triangles` over `positions`; each triangle is in one cluster. No vertex is in more than a few thousand.
pub(crate) fn grow(triangles: &[[u32; 3]], positions: &[Vec3], limits: Limits) -> Clusters {
    let mut builder = Builder::new(triangles, positions, limits);
    builder.run();
    Clusters { triangles: builder.order, ends: builder.ends }
}

/// The middle of a triangle and the direction it faces.
#[derive(Clone, Copy)]
struct Facet {
    centre: Vec3,
    normal: Vec3,
}

/// Seeds remembered, and added per finished cluster.
const MAX_SEEDS: usize = 256;
const NEW_SEEDS: usize = 4;

/// A jump over more than this many radii of a cluster is far.
const FAR: f32 = 4.0;

/// Where a triangle is: not looked at, in a cluster, or else its place among the candidates.
const FREE: u32 = u32::MAX;
const DONE: u32 = u32::MAX - 1;

/// Marks a vertex of the cluster at hand.
const USED: u32 = 1 << 31;

struct Builder<'a> {
    triangles: &'a [[u32; 3]],
    limits: Limits,
    facets: Vec<Facet>,
    /// Triangles of each vertex: those not yet in a cluster come first.
    around: Vec<u32>,
    offsets: Vec<u32>,
    /// How many those are, and [`USED`] if the vertex is in the cluster at hand.
    live: Vec<u32>,
    place: Vec<u32>,
    candidates: Candidates,
    cluster: Cluster,
    seeds: Vec<u32>,
    /// Where the clusters start from: the low corner of the box around all.
    corner: Vec3,
    expected_radius: f32,
    /// How often a cluster ran out of neighbours.
    jumps: usize,
    nearest: Option<Nearest>,
    order: Vec<u32>,
    ends: Vec<u32>,
}

/// The cluster at hand.
#[derive(Default)]
struct Cluster {
    vertices: Vec<u32>,
    triangles: usize,
    /// Sums over its triangles.
    centre: Vec3,
    normal: Vec3,
}

/// Triangles next to the cluster, side by side for the search.
#[derive(Default)]
struct Candidates {
    triangle: Vec<u32>,
    /// How many new vertices it brings, and its rank among candidates (low is better).
    extra: Vec<u8>,
    rank: Vec<u8>,
    facet: Vec<Facet>,
}

impl Cluster {
    fn middle(&self) -> Vec3 {
        let per = 1.0 / self.triangles.max(1) as f32;
        self.centre.map(|sum| sum * per)
    }
}

impl<'a> Builder<'a> {
    fn new(triangles: &'a [[u32; 3]], positions: &[Vec3], limits: Limits) -> Self {
        let mut area = 0.0;
        let mut corner = [f32::MAX; 3];
        let facets: Vec<Facet> = triangles
            .iter()
            .map(|corners| {
                let [a, b, c] = corners.map(|corner| positions[corner as usize]);
                let normal = cross(sub(b, a), sub(c, a));
                let size = length(normal);
                area += f64::from(size);
                let centre = std::array::from_fn(|axis| (a[axis] + b[axis] + c[axis]) * (1.0 / 3.0));
                for axis in 0..3 {
                    corner[axis] = corner[axis].min(centre[axis]);
                }
                Facet { centre, normal: if size > 0.0 { scale(normal, 1.0 / size) } else { normal } }
            })
            .collect();
        // A cluster of average triangles as a square patch has half its side as radius.
        let average = area / triangles.len().max(1) as f64 * 0.5;
        let expected_radius = ((average * limits.triangles as f64).sqrt() * 0.5) as f32;

        let mut offsets = vec![0u32; positions.len() + 1];
        for &vertex in triangles.as_flattened() {
            offsets[vertex as usize + 1] += 1;
        }
        let live = offsets[1..].to_vec();
        for at in 1..offsets.len() {
            offsets[at] += offsets[at - 1];
        }
        let mut fill = offsets.clone();
        let mut around = vec![0; triangles.len() * 3];
        for (triangle, corners) in triangles.iter().enumerate() {
            for &vertex in corners {
                let at = &mut fill[vertex as usize];
                around[*at as usize] = triangle as u32;
                *at += 1;
            }
        }
        Self {
            triangles,
            limits,
            facets,
            around,
            offsets,
            live,
            place: vec![FREE; triangles.len()],
            candidates: Candidates::default(),
            cluster: Cluster::default(),
            seeds: Vec::with_capacity(MAX_SEEDS),
            corner,
            expected_radius,
            jumps: 0,
            nearest: None,
            order: Vec::with_capacity(triangles.len()),
            ends: Vec::new(),
        }
    }

    fn run(&mut self) {
        let distance = |facet: &Facet| square_distance(facet.centre, self.corner);
        let first = (0..self.facets.len() as u32).min_by(|&a, &b| {
            distance(&self.facets[a as usize]).total_cmp(&distance(&self.facets[b as usize]))
        });
        let mut next = first;
        while let Some(triangle) = next {
            self.add(triangle);
            next = self.next();
        }
        if self.cluster.triangles > 0 {
            self.ends.push(self.order.len() as u32);
        }
    }

    /// The triangle to go on with, having closed the cluster if it does not fit.
    fn next(&mut self) -> Option<u32> {
        let Some((best, extra)) = self.best() else { return self.jump() };
        if self.fits(extra) { Some(best) } else { Some(self.close().unwrap_or(best)) }
    }

    /// Goes on where no neighbours are left: with a seed or the nearest triangle in space, in this cluster if that is
    /// not far.
    fn jump(&mut self) -> Option<u32> {
        let centre = self.cluster.middle();
        let far = (FAR * self.expected_radius) * (FAR * self.expected_radius);
        self.jumps += 1;
        // Where the mesh hangs together, jumps are rare and lead to holes left behind anywhere: a cluster for each is
        // better than clusters as large as the mesh. In a mesh of small pieces every cluster has to jump, and may
        // stop at a far one only when it has got somewhere.
        let rare = self.jumps * 64 <= self.order.len();
        let started = self.cluster.vertices.len() * 4 >= self.limits.vertices;

        self.seeds.retain(|&seed| self.place[seed as usize] != DONE);
        let apart = |triangle: u32| square_distance(centre, self.facets[triangle as usize].centre);
        let seed = self.seeds.iter().copied().min_by(|&a, &b| apart(a).total_cmp(&apart(b)));
        let triangle = match seed {
            Some(seed) if rare || apart(seed) <= far => seed,
            _ => self.nearest(centre)?,
        };
        let far = square_distance(centre, self.facets[triangle as usize].centre) > far;
        if self.fits(self.extra(triangle)) && !(far && (rare || started)) {
            return Some(triangle);
        }
        Some(self.close().unwrap_or(triangle))
    }

    fn fits(&self, extra: u8) -> bool {
        self.cluster.triangles < self.limits.triangles
            && self.cluster.vertices.len() + usize::from(extra) <= self.limits.vertices
    }

    /// The best candidate and how many new vertices it brings.
    fn best(&self) -> Option<(u32, u8)> {
        let candidates = &self.candidates;
        let rank = candidates.rank.iter().copied().min()?;
        let centre = self.cluster.middle();
        let axis = unit(self.cluster.normal);
        let spread = (1.0 - self.limits.cone_weight) / self.expected_radius.max(f32::MIN_POSITIVE);
        let (mut best, mut lowest) = (0, f32::INFINITY);
        for (at, (&its, facet)) in candidates.rank.iter().zip(&candidates.facet).enumerate() {
            if its != rank {
                continue;
            }
            let apart = square_distance(facet.centre, centre).sqrt();
            let turned = 1.0 - dot(facet.normal, axis) * self.limits.cone_weight;
            let score = (1.0 + apart * spread) * turned.max(1e-3);
            if score < lowest {
                (best, lowest) = (at, score);
            }
        }
        Some((candidates.triangle[best], candidates.extra[best]))
    }

    /// How many of a triangle's corners are not in the cluster.
    fn extra(&self, triangle: u32) -> u8 {
        self.triangles[triangle as usize].iter().map(|&v| u8::from(self.live[v as usize] & USED == 0)).sum()
    }

    /// How many new vertices a candidate brings, and its rank.
    fn rank(&self, triangle: u32) -> (u8, u8) {
        let live = self.triangles[triangle as usize].map(|vertex| self.live[vertex as usize]);
        let among = |wanted: u32| live.iter().map(|&count| u8::from(count & !USED == wanted)).sum::<u8>();
        let extra = live.iter().map(|&count| u8::from(count & USED == 0)).sum();
        let rank = if extra == 0 {
            0
        } else if among(1) > 0 {
            // The last triangle of some vertex: left behind, it would cost another cluster three vertices.
            1
        } else if among(2) >= 2 {
            // Taking it makes another one the last of its vertex, which keeps things flowing.
            1 + extra
        } else {
            2 + extra
        };
        (extra, rank)
    }

    /// Puts a triangle into the cluster and its neighbours among the candidates.
    fn add(&mut self, triangle: u32) {
        let corners = self.triangles[triangle as usize];
        self.candidates.remove(triangle, &mut self.place);
        self.place[triangle as usize] = DONE;
        for vertex in corners {
            let (start, live) = (self.offsets[vertex as usize] as usize, &mut self.live[vertex as usize]);
            if *live & USED == 0 {
                self.cluster.vertices.push(vertex);
                *live |= USED;
            }
            let list = &mut self.around[start..start + (*live & !USED) as usize];
            if let Some(at) = list.iter().position(|&other| other == triangle) {
                let last = list.len() - 1;
                list.swap(at, last);
                *live -= 1;
            }
        }
        for vertex in corners {
            let start = self.offsets[vertex as usize] as usize;
            for at in start..start + (self.live[vertex as usize] & !USED) as usize {
                let other = self.around[at];
                let (extra, rank) = self.rank(other);
                self.candidates.put(other, extra, rank, &self.facets, &mut self.place);
            }
        }
        let facet = self.facets[triangle as usize];
        for axis in 0..3 {
            self.cluster.centre[axis] += facet.centre[axis];
            self.cluster.normal[axis] += facet.normal[axis];
        }
        self.cluster.triangles += 1;
        self.order.push(triangle);
    }

    /// Ends the cluster and picks the seed of the next among the neighbours of all so far.
    fn close(&mut self) -> Option<u32> {
        self.ends.push(self.order.len() as u32);
        // The most closed in, then the nearest to where everything started.
        let key = |&triangle: &u32| {
            let live: u32 =
                self.triangles[triangle as usize].iter().map(|&v| self.live[v as usize] & !USED).sum();
            (live, square_distance(self.facets[triangle as usize].centre, self.corner))
        };
        let order = |a: &(u32, f32), b: &(u32, f32)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1));
        self.seeds.retain(|&seed| self.place[seed as usize] != DONE);
        self.seeds.truncate(MAX_SEEDS - NEW_SEEDS);
        let mut new: [Option<((u32, f32), u32)>; NEW_SEEDS] = [None; NEW_SEEDS];
        for &triangle in &self.candidates.triangle {
            let mut entry = Some((key(&triangle), triangle));
            for slot in &mut new {
                let better = match (&entry, &*slot) {
                    (Some(entry), Some(slot)) => order(&entry.0, &slot.0).is_lt(),
                    (entry, _) => entry.is_some(),
                };
                if better {
                    std::mem::swap(&mut entry, slot);
                }
            }
        }
        self.seeds.extend(new.iter().flatten().map(|&(_, triangle)| triangle));
        let best = self.seeds.iter().map(|seed| (key(seed), *seed)).min_by(|a, b| order(&a.0, &b.0));

        for vertex in self.cluster.vertices.drain(..) {
            self.live[vertex as usize] &= !USED;
        }
        self.cluster = Cluster { vertices: std::mem::take(&mut self.cluster.vertices), ..Cluster::default() };
        self.candidates.clear(&mut self.place);
        best.map(|(_, triangle)| triangle)
    }

    /// The nearest triangle in space that is in no cluster.
    fn nearest(&mut self, point: Vec3) -> Option<u32> {
        if self.order.len() == self.triangles.len() {
            return None;
        }
        let tree = self.nearest.get_or_insert_with(|| Nearest::new(&self.facets, &self.place));
        tree.find(point, &self.place)
    }
}

impl Candidates {
    fn put(&mut self, triangle: u32, extra: u8, rank: u8, facets: &[Facet], place: &mut [u32]) {
        let at = &mut place[triangle as usize];
        if *at == FREE {
            *at = self.triangle.len() as u32;
            self.triangle.push(triangle);
            self.extra.push(extra);
            self.rank.push(rank);
            self.facet.push(facets[triangle as usize]);
        } else {
            (self.extra[*at as usize], self.rank[*at as usize]) = (extra, rank);
        }
    }

    fn remove(&mut self, triangle: u32, place: &mut [u32]) {
        let at = place[triangle as usize];
        if at >= DONE {
            return;
        }
        let at = at as usize;
        self.triangle.swap_remove(at);
        self.extra.swap_remove(at);
        self.rank.swap_remove(at);
        self.facet.swap_remove(at);
        if let Some(&moved) = self.triangle.get(at) {
            place[moved as usize] = at as u32;
        }
    }

    fn clear(&mut self, place: &mut [u32]) {
        for &triangle in &self.triangle {
            place[triangle as usize] = FREE;
        }
        self.triangle.clear();
        self.extra.clear();
        self.rank.clear();
        self.facet.clear();
    }
}

/// Finds the nearest triangle that is left: a tree of halves, made when first asked, whose empty branches are cut
/// off as they are met.
struct Nearest {
    /// Triangles and their middles.
    points: Vec<(u32, Vec3)>,
    /// The root is 0, the children of `n` are `2n + 1` and `2n + 2`; the last row are leaves.
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Default)]
struct Node {
    axis: u8,
    empty: bool,
    at: f32,
}

/// Triangles per leaf, at most.
const LEAF: usize = 8;

impl Nearest {
    fn new(facets: &[Facet], place: &[u32]) -> Self {
        let left = (0u32..).zip(facets).filter(|&(triangle, _)| place[triangle as usize] != DONE);
        let mut points: Vec<_> = left.map(|(triangle, facet)| (triangle, facet.centre)).collect();
        let leaves = points.len().div_ceil(LEAF).next_power_of_two();
        let mut nodes = vec![Node::default(); leaves * 2 - 1];
        split(&mut nodes, 0, &mut points);
        Self { points, nodes }
    }

    fn find(&mut self, point: Vec3, place: &[u32]) -> Option<u32> {
        let mut search = Search { point, place, apart: f32::INFINITY, found: None };
        search.visit(&mut self.nodes, 0, &self.points);
        search.found
    }
}

fn split(nodes: &mut [Node], node: usize, part: &mut [(u32, Vec3)]) {
    if node >= nodes.len() / 2 {
        return;
    }
    let (mut min, mut max) = ([f32::MAX; 3], [f32::MIN; 3]);
    for (_, point) in &*part {
        for axis in 0..3 {
            min[axis] = min[axis].min(point[axis]);
            max[axis] = max[axis].max(point[axis]);
        }
    }
    let side = |axis: usize| max[axis] - min[axis];
    let axis = (1..3).fold(0, |best, axis| if side(axis) > side(best) { axis } else { best });
    let middle = part.len() / 2;
    if middle < part.len() {
        // Equal ones by number: the tree is the same however they are selected.
        part.select_nth_unstable_by(middle, |a, b| a.1[axis].total_cmp(&b.1[axis]).then(a.0.cmp(&b.0)));
        nodes[node] = Node { axis: axis as u8, empty: false, at: part[middle].1[axis] };
    }
    let (low, high) = part.split_at_mut(middle);
    split(nodes, 2 * node + 1, low);
    split(nodes, 2 * node + 2, high);
}

struct Search<'a> {
    point: Vec3,
    place: &'a [u32],
    apart: f32,
    found: Option<u32>,
}

impl Search<'_> {
    /// Looks at `part`, the triangles below `node`.
    fn visit(&mut self, nodes: &mut [Node], node: usize, part: &[(u32, Vec3)]) {
        if nodes[node].empty {
            return;
        }
        if node >= nodes.len() / 2 {
            nodes[node].empty = true;
            for &(triangle, centre) in part {
                if self.place[triangle as usize] != DONE {
                    nodes[node].empty = false;
                    let apart = square_distance(centre, self.point);
                    if apart < self.apart || self.found.is_none() {
                        (self.apart, self.found) = (apart, Some(triangle));
                    }
                }
            }
            return;
        }
        let (low, high) = part.split_at(part.len() / 2);
        let beyond = self.point[usize::from(nodes[node].axis)] - nodes[node].at;
        let (near, far) = ((2 * node + 1, low), (2 * node + 2, high));
        let (near, far) = if beyond < 0.0 { (near, far) } else { (far, near) };
        self.visit(nodes, near.0, near.1);
        if self.found.is_none() || beyond * beyond < self.apart {
            self.visit(nodes, far.0, far.1);
        }
        nodes[node].empty = nodes[2 * node + 1].empty && nodes[2 * node + 2].empty;
    }
}

fn square_distance(a: Vec3, b: Vec3) -> f32 {
    let apart = sub(a, b);
    dot(apart, apart)
}
