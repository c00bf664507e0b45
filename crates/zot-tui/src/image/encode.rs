//! Encodes pixels as a PNG file.

use super::scale::Pixels;

pub(super) fn png(pixels: &Pixels) -> Option<Vec<u8>> {
    let mut file = Vec::new();
    let width = u32::try_from(pixels.width).ok()?;
    let height = u32::try_from(pixels.rows().len()).ok()?;
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().ok()?;
    writer.write_image_data(&pixels.rgba).ok()?;
    writer.finish().ok()?;
    Some(file)
}
