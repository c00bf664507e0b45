//! Decodes a file into as many pixels as are shown.
//!
//! The files are untrusted. The decoders forbid `unsafe` (the JPEG decoder without its SIMD
//! features) and have memory limits; files that they refuse are not shown.

use std::io::Cursor;

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::MAX_PIXELS;
use super::scale::{Pixels, Shrinker};
use super::size::{self, Format};

/// How much memory a decoder may use: four bytes for every pixel, and some to work with.
const MAX_MEMORY: usize = 4 * MAX_PIXELS + 16 * 1024 * 1024;

/// Decodes an image, or the first frame of an animation, and shrinks it.
pub(super) fn shrunk(file: &[u8], from: (usize, usize), to: (usize, usize)) -> Option<Pixels> {
    let mut shrinker = Shrinker::new(from, to)?;
    match size::format(file)? {
        Format::Png => png(file, from, &mut shrinker),
        Format::Jpeg => jpeg(file, from, &mut shrinker),
        Format::Gif => gif(file, from, &mut shrinker),
        Format::Webp => webp(file, from, &mut shrinker),
    }?;
    shrinker.finish()
}

fn png(file: &[u8], (width, height): (usize, usize), shrinker: &mut Shrinker) -> Option<()> {
    let limits = png::Limits { bytes: MAX_MEMORY };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(file), limits);
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info().ok()?;
    let channels = reader.output_color_type().0.samples();
    if reader.info().interlaced {
        let mut pixels = vec![0; reader.output_buffer_size()?];
        reader.next_frame(&mut pixels).ok()?;
        push_all(shrinker, &pixels, width, channels);
        return Some(());
    }
    for _ in 0..height {
        shrinker.push(reader.next_row().ok()??.data(), channels);
    }
    Some(())
}

fn jpeg(file: &[u8], (width, height): (usize, usize), shrinker: &mut Shrinker) -> Option<()> {
    let options = DecoderOptions::new_safe()
        .set_max_width(width)
        .set_max_height(height);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    let pixels = decoder.decode().ok()?;
    let channels = decoder.output_colorspace()?.num_components();
    push_all(shrinker, &pixels, width, channels);
    Some(())
}

/// A frame may be smaller than the image; the rest stays transparent.
fn gif(file: &[u8], (width, height): (usize, usize), shrinker: &mut Shrinker) -> Option<()> {
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    options.check_frame_consistency(true);
    let limit = std::num::NonZeroU64::new(MAX_MEMORY as u64)?;
    options.set_memory_limit(gif::MemoryLimit::Bytes(limit));
    let mut decoder = options.read_info(file).ok()?;
    let frame = decoder.read_next_frame().ok()??;
    let (left, top) = (usize::from(frame.left), usize::from(frame.top));
    let frame_width = usize::from(frame.width).max(1);
    let mut rows = frame.buffer.chunks_exact(frame_width * 4);
    let mut row = vec![0; width * 4];
    for index in 0..height {
        row.fill(0);
        if index >= top
            && let Some(drawn) = rows.next()
            && let Some(room) = row.get_mut(left * 4..(left + frame_width) * 4)
        {
            room.copy_from_slice(drawn);
        }
        shrinker.push(&row, 4);
    }
    Some(())
}

fn webp(file: &[u8], from: (usize, usize), shrinker: &mut Shrinker) -> Option<()> {
    let mut decoder = image_webp::WebPDecoder::new(Cursor::new(file)).ok()?;
    decoder.set_memory_limit(MAX_MEMORY);
    let (width, height) = decoder.dimensions();
    if (width as usize, height as usize) != from {
        return None;
    }
    let channels = if decoder.has_alpha() { 4 } else { 3 };
    let mut pixels = vec![0; decoder.output_buffer_size()?];
    decoder.read_image(&mut pixels).ok()?;
    push_all(shrinker, &pixels, from.0, channels);
    Some(())
}

fn push_all(shrinker: &mut Shrinker, pixels: &[u8], width: usize, channels: usize) {
    for row in pixels.chunks_exact((width * channels).max(1)) {
        shrinker.push(row, channels);
    }
}
