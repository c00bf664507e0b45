//! Test files.

pub(super) fn png(width: u32, height: u32, colour: png::ColorType, pixels: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(colour);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(pixels).unwrap();
    writer.finish().unwrap();
    file
}

/// Returns an image with one frame, given as left, top, width, height.
pub(super) fn gif(width: u16, height: u16, frame: (u16, u16, u16, u16)) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = gif::Encoder::new(&mut file, width, height, &[]).unwrap();
    let (left, top, frame_width, frame_height) = frame;
    let columns = (0..frame_height).flat_map(|_| 0..frame_width);
    let half = |column: u16| u8::from(column >= frame_width / 2);
    let pixels: Vec<u8> = columns.map(half).collect();
    let palette = [200, 50, 50, 30, 100, 200];
    let mut frame =
        gif::Frame::from_palette_pixels(frame_width, frame_height, pixels, palette, None);
    (frame.left, frame.top) = (left, top);
    encoder.write_frame(&frame).unwrap();
    drop(encoder);
    file
}

/// Returns an image of 32×16, red on the left and blue on the right, in every format.
pub(super) fn halves() -> Vec<(&'static str, Vec<u8>)> {
    let colour = |column: usize| {
        if column < 16 {
            [200, 50, 50]
        } else {
            [30, 100, 200]
        }
    };
    let row: Vec<u8> = (0..32).flat_map(colour).collect();
    let rgb = row.repeat(16);
    let indices: Vec<u8> = (0..16).flat_map(|_| [0, 0, 0xff, 0xff]).collect();
    let mut indexed = Vec::new();
    let mut encoder = png::Encoder::new(&mut indexed, 32, 16);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::One);
    encoder.set_palette(vec![200, 50, 50, 30, 100, 200]);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&indices).unwrap();
    writer.finish().unwrap();
    let mut lossless = Vec::new();
    image_webp::WebPEncoder::new(&mut lossless)
        .encode(&rgb, 32, 16, image_webp::ColorType::Rgb8)
        .unwrap();
    vec![
        ("png", png(32, 16, png::ColorType::Rgb, &rgb)),
        ("indexed png", indexed),
        ("gif", gif(32, 16, (0, 0, 32, 16))),
        ("jpeg", include_bytes!("halves.jpg").to_vec()),
        ("webp", include_bytes!("halves.webp").to_vec()),
        ("lossless webp", lossless),
    ]
}

/// Returns a red gradient to the right and a green one downwards, with noise that averages out.
pub(super) fn noise(width: u32, height: u32) -> Vec<u8> {
    let mut state = 1_u32;
    let mut pixels = Vec::new();
    for row in 0..height {
        for column in 0..width {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let blue = 118 + u8::try_from(state >> 24).unwrap() % 21;
            let share = |value: u32, of: u32| u8::try_from(value * 255 / of).unwrap();
            pixels.extend([share(column, width), share(row, height), blue]);
        }
    }
    png(width, height, png::ColorType::Rgb, &pixels)
}

/// Adds the orientation that a camera records.
pub(super) fn with_orientation(file: &[u8], orientation: u8, is_little: bool) -> Vec<u8> {
    let number = |value: u32, bytes: usize| match is_little {
        true => value.to_le_bytes()[..bytes].to_vec(),
        false => value.to_be_bytes()[4 - bytes..].to_vec(),
    };
    let mut exif = b"Exif\0\0".to_vec();
    exif.extend(if is_little { b"II" } else { b"MM" });
    exif.extend([number(42, 2), number(8, 4), number(2, 2)].concat());
    exif.extend([number(0x010f, 2), number(3, 2), number(1, 4), number(0, 4)].concat());
    let value = [number(orientation.into(), 2), number(0, 2)].concat();
    exif.extend([number(0x0112, 2), number(3, 2), number(1, 4), value].concat());
    exif.extend(number(0, 4));
    let mut oriented = vec![0xff, 0xd8, 0xff, 0xe1];
    oriented.extend(u16::try_from(exif.len() + 2).unwrap().to_be_bytes());
    oriented.extend(exif);
    oriented.extend(&file[2..]);
    oriented
}
