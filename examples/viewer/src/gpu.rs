//! The little of wgpu that drawing takes: one pipeline, whose vertex layout is the record of a `.hmesh`.

use std::error::Error;
use std::ops::Range;

use kiln_format::hmesh::GpuVertex;
use wgpu::util::{BufferInitDescriptor, DeviceExt, TextureDataOrder};

use crate::texture;

/// The fallback for a material without a texture.
const WHITE: [u8; 4] = [255; 4];
const COLOUR: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8UnormSrgb;
const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;

pub(crate) struct Gpu {
    adapter: wgpu::Adapter,
    device: wgpu::Device,
    queue: wgpu::Queue,
    pipeline: wgpu::RenderPipeline,
    sampler: wgpu::Sampler,
    white: wgpu::TextureView,
}

/// A part of a model with one material.
pub(crate) struct Draw {
    pub(crate) range: Range<u32>,
    pub(crate) bind: wgpu::BindGroup,
}

/// A mesh on the GPU.
pub(crate) struct Model {
    pub(crate) vertices: wgpu::Buffer,
    pub(crate) indices: wgpu::Buffer,
    /// Bytes of an index: 2 or 4.
    pub(crate) width: u8,
    pub(crate) camera: wgpu::BindGroup,
    pub(crate) draws: Vec<Draw>,
}

impl Gpu {
    pub(crate) fn new() -> Result<Gpu, Box<dyn Error>> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
        let descriptor = wgpu::DeviceDescriptor {
            required_features: adapter.features()
                & (wgpu::Features::TEXTURE_COMPRESSION_BC
                    | wgpu::Features::TEXTURE_COMPRESSION_ETC2
                    | wgpu::Features::TEXTURE_COMPRESSION_ASTC),
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))?;
        let pipeline = pipeline(&device);
        let sampler = device.create_sampler(&wgpu::SamplerDescriptor {
            address_mode_u: wgpu::AddressMode::Repeat,
            address_mode_v: wgpu::AddressMode::Repeat,
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            mipmap_filter: wgpu::MipmapFilterMode::Linear,
            ..Default::default()
        });
        let white = texture::Ready { format: COLOUR, width: 1, height: 1, levels: vec![WHITE.to_vec()] };
        let white = upload(&device, &queue, &white);
        Ok(Gpu { adapter, device, queue, pipeline, sampler, white })
    }

    pub(crate) fn name(&self) -> String {
        self.adapter.get_info().name
    }

    pub(crate) fn vertices(&self, bytes: &[u8]) -> wgpu::Buffer {
        self.buffer(bytes, wgpu::BufferUsages::VERTEX)
    }

    pub(crate) fn indices(&self, bytes: &[u8]) -> wgpu::Buffer {
        self.buffer(bytes, wgpu::BufferUsages::INDEX)
    }

    fn buffer(&self, contents: &[u8], usage: wgpu::BufferUsages) -> wgpu::Buffer {
        self.device.create_buffer_init(&BufferInitDescriptor { label: None, contents, usage })
    }

    fn uniform(&self, numbers: &[f32]) -> wgpu::Buffer {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.buffer(&bytes, wgpu::BufferUsages::UNIFORM)
    }

    pub(crate) fn upload(&self, file: &[u8]) -> Result<wgpu::TextureView, Box<dyn Error>> {
        Ok(upload(&self.device, &self.queue, &texture::ready(file, self.device.features())?))
    }

    pub(crate) fn camera(&self, matrix: &[f32; 16]) -> wgpu::BindGroup {
        let buffer = self.uniform(matrix);
        self.bind(0, &[buffer.as_entire_binding()])
    }

    pub(crate) fn material(
        &self,
        factors: &[f32; 8],
        texture: Option<&wgpu::TextureView>,
    ) -> wgpu::BindGroup {
        let buffer = self.uniform(factors);
        let texture = wgpu::BindingResource::TextureView(texture.unwrap_or(&self.white));
        self.bind(1, &[buffer.as_entire_binding(), texture, wgpu::BindingResource::Sampler(&self.sampler)])
    }

    fn bind(&self, group: u32, resources: &[wgpu::BindingResource<'_>]) -> wgpu::BindGroup {
        let mut entries = Vec::new();
        for (binding, resource) in resources.iter().enumerate() {
            entries.push(wgpu::BindGroupEntry { binding: binding as u32, resource: resource.clone() });
        }
        let layout = &self.pipeline.get_bind_group_layout(group);
        self.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
    }

    /// Draws models into the cells of a grid, and returns its texels.
    pub(crate) fn draw(
        &self,
        models: &[Model],
        columns: u32,
        rows: u32,
        cell: u32,
    ) -> Result<Vec<u8>, Box<dyn Error>> {
        let size = wgpu::Extent3d { width: columns * cell, height: rows * cell, depth_or_array_layers: 1 };
        let target = |format, usage| {
            self.device.create_texture(&wgpu::TextureDescriptor {
                label: None,
                size,
                mip_level_count: 1,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage: wgpu::TextureUsages::RENDER_ATTACHMENT | usage,
                view_formats: &[],
            })
        };
        let colour = target(COLOUR, wgpu::TextureUsages::COPY_SRC);
        let depth = target(DEPTH, wgpu::TextureUsages::empty());
        let (colour_view, depth_view) =
            (colour.create_view(&Default::default()), depth.create_view(&Default::default()));
        let mut encoder = self.device.create_command_encoder(&Default::default());
        {
            let background = wgpu::Color { r: 0.02, g: 0.022, b: 0.026, a: 1.0 };
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &colour_view,
                    depth_slice: None,
                    resolve_target: None,
                    ops: wgpu::Operations {
                        load: wgpu::LoadOp::Clear(background),
                        store: wgpu::StoreOp::Store,
                    },
                })],
                depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                    view: &depth_view,
                    depth_ops: Some(wgpu::Operations {
                        load: wgpu::LoadOp::Clear(1.0),
                        store: wgpu::StoreOp::Discard,
                    }),
                    stencil_ops: None,
                }),
                ..Default::default()
            });
            pass.set_pipeline(&self.pipeline);
            for (i, model) in models.iter().enumerate() {
                let (column, row) = (i as u32 % columns, i as u32 / columns);
                let [x, y, side] = [column * cell, row * cell, cell].map(|n| n as f32);
                pass.set_viewport(x, y, side, side, 0.0, 1.0);
                let format =
                    if model.width == 2 { wgpu::IndexFormat::Uint16 } else { wgpu::IndexFormat::Uint32 };
                pass.set_vertex_buffer(0, model.vertices.slice(..));
                pass.set_index_buffer(model.indices.slice(..), format);
                pass.set_bind_group(0, &model.camera, &[]);
                for draw in &model.draws {
                    pass.set_bind_group(1, &draw.bind, &[]);
                    pass.draw_indexed(draw.range.clone(), 0, 0..1);
                }
            }
        }
        self.read_back(encoder, &colour, size)
    }

    fn read_back(
        &self,
        mut encoder: wgpu::CommandEncoder,
        colour: &wgpu::Texture,
        size: wgpu::Extent3d,
    ) -> Result<Vec<u8>, Box<dyn Error>> {
        // Rows in a buffer start at multiples of 256 bytes.
        let (row, padded) =
            (size.width * 4, (size.width * 4).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT));
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: u64::from(padded) * u64::from(size.height),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let layout =
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(padded), rows_per_image: None };
        encoder.copy_texture_to_buffer(
            colour.as_image_copy(),
            wgpu::TexelCopyBufferInfo { buffer: &buffer, layout },
            size,
        );
        self.queue.submit([encoder.finish()]);
        let (done, wait) = std::sync::mpsc::channel();
        buffer.map_async(wgpu::MapMode::Read, .., move |mapped| drop(done.send(mapped)));
        self.device.poll(wgpu::PollType::wait_indefinitely())?;
        wait.recv()??;
        let bytes = buffer.get_mapped_range(..)?;
        Ok(bytes.chunks_exact(padded as usize).flat_map(|line| &line[..row as usize]).copied().collect())
    }
}

fn upload(device: &wgpu::Device, queue: &wgpu::Queue, ready: &texture::Ready) -> wgpu::TextureView {
    let descriptor = wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width: ready.width, height: ready.height, depth_or_array_layers: 1 },
        mip_level_count: ready.levels.len() as u32,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: ready.format,
        usage: wgpu::TextureUsages::TEXTURE_BINDING,
        view_formats: &[],
    };
    let bytes = ready.levels.concat();
    let texture = device.create_texture_with_data(queue, &descriptor, TextureDataOrder::LayerMajor, &bytes);
    texture.create_view(&Default::default())
}

fn pipeline(device: &wgpu::Device) -> wgpu::RenderPipeline {
    let module = &device.create_shader_module(wgpu::include_wgsl!("shader.wgsl"));
    let attribute = |shader_location, offset: usize, format| wgpu::VertexAttribute {
        format,
        offset: offset as u64,
        shader_location,
    };
    let attributes = &[
        attribute(0, std::mem::offset_of!(GpuVertex, position), wgpu::VertexFormat::Float32x3),
        attribute(1, std::mem::offset_of!(GpuVertex, normal), wgpu::VertexFormat::Snorm16x2),
        attribute(2, std::mem::offset_of!(GpuVertex, uv), wgpu::VertexFormat::Float32x2),
    ];
    let array_stride = size_of::<GpuVertex>() as u64;
    let layout =
        wgpu::VertexBufferLayout { array_stride, step_mode: wgpu::VertexStepMode::Vertex, attributes };
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: None,
        layout: None,
        vertex: wgpu::VertexState {
            module,
            entry_point: None,
            compilation_options: Default::default(),
            buffers: &[Some(layout)],
        },
        primitive: Default::default(),
        depth_stencil: Some(wgpu::DepthStencilState {
            format: DEPTH,
            depth_write_enabled: Some(true),
            depth_compare: Some(wgpu::CompareFunction::Less),
            stencil: Default::default(),
            bias: Default::default(),
        }),
        multisample: Default::default(),
        fragment: Some(wgpu::FragmentState {
            module,
            entry_point: None,
            compilation_options: Default::default(),
            targets: &[Some(COLOUR.into())],
        }),
        multiview_mask: None,
        cache: None,
    })
}
