//! The little of wgpu that drawing takes.

use pak::bitmap::{Bitmap, BitmapColor};
use pak::index::IndexType;
use pak::mesh::{Primitive, VertexFormat, VertexSemantic, VertexType};
use pak::{Quat, Vec3};
use std::error::Error;
use wgpu::util::{BufferInitDescriptor, DeviceExt, TextureDataOrder};

const COLOR: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8UnormSrgb;
const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;

pub(crate) struct Gpu {
    adapter: wgpu::Adapter,
    device: wgpu::Device,
    queue: wgpu::Queue,
    shader: wgpu::ShaderModule,
    sampler: wgpu::Sampler,
}

/// A primitive, ready to be drawn.
pub(crate) struct Draw {
    pipeline: wgpu::RenderPipeline,
    bind: wgpu::BindGroup,
    vertices: wgpu::Buffer,
    indices: wgpu::Buffer,
    index_format: wgpu::IndexFormat,
    index_count: u32,
}

impl Gpu {
    pub(crate) fn new() -> Result<Gpu, Box<dyn Error>> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default()))?;
        let shader = device.create_shader_module(wgpu::include_wgsl!("shader.wgsl"));
        let sampler = device.create_sampler(&wgpu::SamplerDescriptor::default());
        Ok(Gpu { adapter, device, queue, shader, sampler })
    }

    pub(crate) fn name(&self) -> String {
        self.adapter.get_info().name
    }

    fn buffer(&self, contents: &[u8], usage: wgpu::BufferUsages) -> wgpu::Buffer {
        self.device.create_buffer_init(&BufferInitDescriptor { label: None, contents, usage })
    }

    /// Uploads the transform of an instance, as `Instance` of the shader has it.
    pub(crate) fn instance(&self, [x, y, z, w]: Quat, scale: Vec3, translation: Vec3) -> wgpu::Buffer {
        let axes = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)],
            [2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)],
            [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)],
        ];
        let mut bytes = Vec::new();
        for (axis, scale) in axes.into_iter().zip(scale).chain([(translation, 1.0)]) {
            // Vectors of three floats start at multiples of 16 bytes.
            let column = [axis[0] * scale, axis[1] * scale, axis[2] * scale, 0.0];
            bytes.extend(column.into_iter().flat_map(f32::to_le_bytes));
        }
        self.buffer(&bytes, wgpu::BufferUsages::UNIFORM)
    }

    /// Uploads all mip levels of a bitmap. Few GPUs have textures of three channels, so all become RGBA.
    pub(crate) fn texture(&self, bitmap: &Bitmap) -> Result<wgpu::TextureView, Box<dyn Error>> {
        let (width, height) = bitmap.extent();
        let mut bytes = Vec::new();
        for level in 0..bitmap.mip_levels() {
            let ((width, height), _) = bitmap.level(level).ok_or("a bitmap of blocks")?;
            let (start, row) = (bytes.len(), width as usize * 4);
            bytes.resize(start + row * height as usize, 0);
            if !bitmap.write_rgba8(level, &mut bytes[start..], row) {
                return Err("a mip level is incomplete".into());
            }
        }
        let descriptor = wgpu::TextureDescriptor {
            label: None,
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: bitmap.mip_levels(),
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: match bitmap.color() {
                BitmapColor::Srgb => wgpu::TextureFormat::Rgba8UnormSrgb,
                BitmapColor::Linear => wgpu::TextureFormat::Rgba8Unorm,
            },
            usage: wgpu::TextureUsages::TEXTURE_BINDING,
            view_formats: &[],
        };
        let order = TextureDataOrder::LayerMajor;
        let texture = self.device.create_texture_with_data(&self.queue, &descriptor, order, &bytes);
        Ok(texture.create_view(&Default::default()))
    }

    /// Uploads the vertices and the indices of LOD 0, and makes a pipeline for the layout of the vertices.
    pub(crate) fn prepare(
        &self,
        primitive: &Primitive,
        instance: &wgpu::Buffer,
        texture: &wgpu::TextureView,
    ) -> Result<Draw, Box<dyn Error>> {
        let pipeline = self.pipeline(primitive.vertex_type())?;
        let bind = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: instance.as_entire_binding() },
                wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::TextureView(texture) },
                wgpu::BindGroupEntry { binding: 2, resource: wgpu::BindingResource::Sampler(&self.sampler) },
            ],
        });
        let lod = primitive.lods().first().ok_or("a primitive without indices")?;
        let indices = |bytes: &[u8]| self.buffer(bytes, wgpu::BufferUsages::INDEX);
        let (indices, index_format) = match lod.index_type() {
            IndexType::U32 => (indices(lod.bytes()), wgpu::IndexFormat::Uint32),
            IndexType::U16 => (indices(lod.bytes()), wgpu::IndexFormat::Uint16),
            // wgpu has no 8-bit indices.
            IndexType::U8 => {
                let wide: Vec<u8> = lod.bytes().iter().flat_map(|index| [*index, 0]).collect();
                (indices(&wide), wgpu::IndexFormat::Uint16)
            }
        };
        let vertices = self.buffer(primitive.vertex_data(), wgpu::BufferUsages::VERTEX);
        Ok(Draw { pipeline, bind, vertices, indices, index_format, index_count: lod.index_count() as u32 })
    }

    fn pipeline(&self, vertex_type: VertexType) -> Result<wgpu::RenderPipeline, Box<dyn Error>> {
        let mut attributes = Vec::new();
        for (semantic, shader_location) in [(VertexSemantic::Position, 0), (VertexSemantic::TexCoord0, 1)] {
            let attribute = vertex_type.attributes().find(|attribute| attribute.semantic == semantic);
            let attribute = attribute.ok_or_else(|| format!("vertices without {semantic:?}"))?;
            attributes.push(wgpu::VertexAttribute {
                format: format(attribute.format)?,
                offset: attribute.offset as u64,
                shader_location,
            });
        }
        let layout = wgpu::VertexBufferLayout {
            array_stride: vertex_type.stride() as u64,
            step_mode: wgpu::VertexStepMode::Vertex,
            attributes: &attributes,
        };
        Ok(self.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: None,
            layout: None,
            vertex: wgpu::VertexState {
                module: &self.shader,
                entry_point: None,
                compilation_options: Default::default(),
                buffers: &[Some(layout)],
            },
            primitive: wgpu::PrimitiveState { cull_mode: Some(wgpu::Face::Back), ..Default::default() },
            depth_stencil: Some(wgpu::DepthStencilState {
                format: DEPTH,
                depth_write_enabled: Some(true),
                depth_compare: Some(wgpu::CompareFunction::Less),
                stencil: Default::default(),
                bias: Default::default(),
            }),
            multisample: Default::default(),
            fragment: Some(wgpu::FragmentState {
                module: &self.shader,
                entry_point: None,
                compilation_options: Default::default(),
                targets: &[Some(COLOR.into())],
            }),
            multiview_mask: None,
            cache: None,
        }))
    }

    /// Draws a square frame and reads it back.
    pub(crate) fn draw(&self, draws: &[Draw], side: u32) -> Result<Vec<u8>, Box<dyn Error>> {
        let size = wgpu::Extent3d { width: side, height: side, depth_or_array_layers: 1 };
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
        let color = target(COLOR, wgpu::TextureUsages::COPY_SRC);
        let depth = target(DEPTH, wgpu::TextureUsages::empty());
        let (color_view, depth_view) =
            (color.create_view(&Default::default()), depth.create_view(&Default::default()));
        let mut encoder = self.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &color_view,
                    depth_slice: None,
                    resolve_target: None,
                    ops: wgpu::Operations {
                        load: wgpu::LoadOp::Clear(wgpu::Color::BLACK),
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
            for draw in draws {
                pass.set_pipeline(&draw.pipeline);
                pass.set_bind_group(0, &draw.bind, &[]);
                pass.set_vertex_buffer(0, draw.vertices.slice(..));
                pass.set_index_buffer(draw.indices.slice(..), draw.index_format);
                pass.draw_indexed(0..draw.index_count, 0, 0..1);
            }
        }
        self.read_back(encoder, &color, size)
    }

    fn read_back(
        &self,
        mut encoder: wgpu::CommandEncoder,
        color: &wgpu::Texture,
        size: wgpu::Extent3d,
    ) -> Result<Vec<u8>, Box<dyn Error>> {
        // Rows in a buffer start at multiples of 256 bytes.
        let row = size.width * 4;
        let padded = row.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: u64::from(padded) * u64::from(size.height),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let layout =
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(padded), rows_per_image: None };
        let copy = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
        encoder.copy_texture_to_buffer(color.as_image_copy(), copy, size);
        self.queue.submit([encoder.finish()]);
        let (done, wait) = std::sync::mpsc::channel();
        buffer.map_async(wgpu::MapMode::Read, .., move |mapped| drop(done.send(mapped)));
        self.device.poll(wgpu::PollType::wait_indefinitely())?;
        wait.recv()??;
        let bytes = buffer.get_mapped_range(..)?;
        Ok(bytes.chunks_exact(padded as usize).flat_map(|line| &line[..row as usize]).copied().collect())
    }
}

/// Returns the vertex format of wgpu, which has the same name.
fn format(format: VertexFormat) -> Result<wgpu::VertexFormat, Box<dyn Error>> {
    Ok(match format {
        VertexFormat::Float32x2 => wgpu::VertexFormat::Float32x2,
        VertexFormat::Float32x3 => wgpu::VertexFormat::Float32x3,
        VertexFormat::Float32x4 => wgpu::VertexFormat::Float32x4,
        VertexFormat::Uint8x4 => wgpu::VertexFormat::Uint8x4,
        VertexFormat::Uint16x4 => wgpu::VertexFormat::Uint16x4,
        VertexFormat::Unorm8x4 => wgpu::VertexFormat::Unorm8x4,
        VertexFormat::Unorm16x4 => wgpu::VertexFormat::Unorm16x4,
        other => return Err(format!("{other:?} is unknown").into()),
    })
}
