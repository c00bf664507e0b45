mod files;
mod sixels;

use super::*;
use files::{gif, halves, noise, png};

const ENCODER: ImageEncoder = ImageEncoder {
    protocol: Protocol::Sixel,
    cell: Some((10, 20)),
};

fn encoder(protocol: Protocol) -> ImageEncoder {
    ImageEncoder {
        protocol,
        ..ENCODER
    }
}

/// Returns a file that claims a size but has no pixels.
fn claim(width: u32, height: u32) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    file.extend(width.to_be_bytes());
    file.extend(height.to_be_bytes());
    file.extend([8, 6, 0, 0, 0]);
    file.resize(6_000, 0);
    file
}

#[test]
fn sizes_are_read() {
    assert_eq!(size::of(&claim(640, 480)), Some((640, 480)));
    assert_eq!(size::of(b"GIF89a\x10\x00\x20\x00"), Some((16, 32)));
    let jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08\x00\x20\x00\x10\x01\x01\x11\x00";
    assert_eq!(size::of(jpeg), Some((16, 32)));
    let mut webp = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0".to_vec();
    webp.extend([15, 0, 0, 31, 0, 0]);
    assert_eq!(size::of(&webp), Some((16, 32)));
    // A truncated file is refused without a panic.
    for file in [claim(1, 1), jpeg.to_vec(), webp] {
        for end in 0..file.len().min(40) {
            let _ = size::of(&file[..end]);
        }
    }
}

#[test]
fn an_image_fits_and_keeps_its_shape() {
    let fit = |width, height, rows| {
        let fit = ENCODER.fit(width, height, 80, rows).unwrap();
        (fit.columns, fit.rows, fit.pixels)
    };
    assert_eq!(fit(100, 100, 24), (10, 5, (100, 100)));
    assert_eq!(fit(4_000, 1_000, 24), (60, 8, (600, 150)));
    assert_eq!(fit(1_000, 4_000, 10), (5, 10, (50, 200)));
    assert_eq!(fit(1, 1, 24), (1, 1, (1, 1)));
    assert_eq!(fit(100_000, 1, 24), (60, 1, (600, 1)));
    assert_eq!(ENCODER.fit(1, 1, 80, 0), None);
}

#[test]
fn every_format_is_drawn_in_its_colours() {
    for (name, file) in halves() {
        let drawing = ENCODER.draw(&file, 80, 24, 1).expect(name);
        assert_eq!((drawing.columns, drawing.rows), (4, 1), "{name}");
        let image = sixels::parse(&drawing.sequence);
        assert_eq!((image.width, image.height), (32, 16), "{name}");
        for (column, expected) in [(4, [200, 50, 50]), (27, [30, 100, 200])] {
            sixels::assert_near(image.at(column, 8).unwrap(), expected, 10, name);
        }
    }
}

#[test]
fn a_photograph_is_rotated_to_be_upright() {
    let upright = include_bytes!("tests/halves.jpg");
    // Where the red half is: left, right, top or bottom.
    let expected = [
        "left", "right", "right", "left", "top", "top", "bottom", "bottom",
    ];
    for (orientation, red) in (1_u8..).zip(expected) {
        for is_little in [true, false] {
            let file = files::with_orientation(upright, orientation, is_little);
            let drawing = ENCODER.draw(&file, 80, 24, 1).unwrap();
            let image = sixels::parse(&drawing.sequence);
            let (size, position) = match red {
                "left" => ((32, 16), (4, 8)),
                "right" => ((32, 16), (27, 8)),
                "top" => ((16, 32), (8, 4)),
                _ => ((16, 32), (8, 27)),
            };
            assert_eq!((image.width, image.height), size, "{orientation}");
            let colour = image.at(position.0, position.1).unwrap();
            sixels::assert_near(colour, [200, 50, 50], 10, &format!("{orientation}"));
        }
    }
    let file = files::with_orientation(upright, 9, true);
    assert_eq!(ENCODER.draw(&file, 80, 24, 1).unwrap().columns, 4);
}

#[test]
fn a_large_image_is_scaled_down_faithfully() {
    let file = noise(900, 700);
    let drawing = ENCODER.draw(&file, 40, 10, 1).unwrap();
    assert_eq!((drawing.columns, drawing.rows), (26, 10));
    let image = sixels::parse(&drawing.sequence);
    assert_eq!((image.width, image.height), (257, 200));
    assert!(image.colours <= 256 && image.colours > 100);
    // The gradients in both directions are reproduced on average.
    for (left, top) in [(0, 0), (120, 90), (230, 170)] {
        let mut sums = [0; 3];
        for row in top..top + 20 {
            for column in left..left + 20 {
                let colour = image.at(column, row).unwrap();
                for (sum, part) in sums.iter_mut().zip(colour) {
                    *sum += u32::from(part);
                }
            }
        }
        let mean = sums.map(|sum| u8::try_from(sum / 400).unwrap());
        let expected = [(left + 10) * 255 / 257, (top + 10) * 255 / 200, 128];
        let expected = expected.map(|part| u8::try_from(part).unwrap());
        sixels::assert_near(mean, expected, 8, "mean");
    }
}

#[test]
fn transparent_pixels_are_left_out() {
    let mut rgba = Vec::new();
    for column in 0..20 {
        rgba.extend([10, 200, 30, if column < 10 { 255 } else { 0 }]);
    }
    let file = png(20, 1, png::ColorType::Rgba, &rgba);
    let drawing = ENCODER.draw(&file, 80, 24, 1).unwrap();
    assert!(drawing.sequence.starts_with("\x1b7\x1bP0;1;0q"));
    let image = sixels::parse(&drawing.sequence);
    sixels::assert_near(image.at(9, 0).unwrap(), [10, 200, 30], 3, "left");
    assert_eq!(image.at(10, 0), None);
    let nothing = png(8, 8, png::ColorType::Rgba, &[0; 256]);
    let drawing = ENCODER.draw(&nothing, 80, 24, 1).unwrap();
    assert_eq!(sixels::parse(&drawing.sequence).at(3, 3), None);
}

#[test]
fn the_area_around_a_frame_is_transparent() {
    let image = sixels::parse(
        &ENCODER
            .draw(&gif(8, 8, (2, 3, 4, 2)), 80, 24, 1)
            .unwrap()
            .sequence,
    );
    assert_eq!(image.at(1, 3), None);
    assert_eq!(image.at(2, 2), None);
    assert!(image.at(2, 3).is_some());
    assert!(image.at(5, 4).is_some());
    assert_eq!(image.at(6, 4), None);
    assert_eq!(image.at(3, 5), None);
}

#[test]
fn decompression_bombs_and_damaged_files_are_not_drawn() {
    let drawn = |protocol, file: &[u8]| encoder(protocol).draw(file, 80, 24, 1);
    for protocol in [Protocol::Sixel, Protocol::Kitty, Protocol::Iterm] {
        assert_eq!(drawn(protocol, &claim(60_000, 60_000)), None);
        assert_eq!(drawn(protocol, &claim(u32::MAX, u32::MAX)), None);
        assert_eq!(drawn(protocol, &claim(0, 7)), None);
        assert_eq!(drawn(protocol, b"no image"), None);
        assert_eq!(drawn(protocol, &vec![0; MAX_DECODED_IMAGE_BYTES + 1]), None);
    }
    // The header claims more than the file has.
    assert_eq!(drawn(Protocol::Sixel, &claim(4_000, 4_000)), None);
    for (name, file) in halves() {
        for end in 0..file.len() {
            // A decoder may accept the beginning.
            let _ = drawn(Protocol::Sixel, &file[..end]);
        }
        assert_eq!(
            drawn(Protocol::Sixel, &file[..file.len() / 4]),
            None,
            "{name}"
        );
        for index in (0..file.len()).step_by(7) {
            let mut file = file.clone();
            file[index] ^= 0x55;
            let _ = drawn(Protocol::Sixel, &file);
        }
    }
}

#[test]
fn kitty_receives_chunks_and_draws_by_number() {
    let drawing = encoder(Protocol::Kitty)
        .draw(&claim(100, 100), 80, 24, 7)
        .unwrap();
    assert_eq!((drawing.columns, drawing.rows), (10, 5));
    let start = "\x1b_Ga=t,f=100,q=2,i=7,m=1;";
    assert!(drawing.preamble.starts_with(start), "{}", drawing.preamble);
    assert_eq!(drawing.preamble.matches("\x1b_G").count(), 2);
    assert!(drawing.preamble.contains("\x1b_Gm=0;"));
    assert_eq!(&*drawing.sequence, "\x1b_Ga=p,q=2,i=7,C=1,c=10,r=5\x1b\\");
    assert_eq!(drawing.redrawn().preamble, "");
}

#[test]
fn kitty_receives_other_formats_as_png() {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    for (name, file) in halves() {
        let drawing = encoder(Protocol::Kitty).draw(&file, 80, 24, 7).expect(name);
        let chunks = drawing
            .preamble
            .split("\x1b\\")
            .filter_map(|one| one.split_once(';'));
        let encoded: String = chunks.map(|(_, chunk)| chunk).collect();
        let sent = STANDARD.decode(encoded).unwrap();
        let pixels = decode::shrunk(&sent, (32, 16), (32, 16)).expect(name);
        let near = |index: usize, expected| {
            let colour = std::array::from_fn(|part| pixels.rgba[index * 4 + part]);
            sixels::assert_near(colour, expected, 8, name);
        };
        near(8 * 32 + 4, [200, 50, 50]);
        near(8 * 32 + 27, [30, 100, 200]);
    }
}

#[test]
fn placeholders_are_text_and_the_image_passes_through_tmux() {
    let number = number(4_711, 0);
    let drawing = encoder(Protocol::Placeholders);
    let drawing = drawing.draw(&claim(30, 40), 80, 24, number).unwrap();
    assert_eq!((drawing.columns, drawing.rows), (3, 2));
    let start = format!("\x1bPtmux;\x1b\x1b_Ga=T,U=1,f=100,q=2,i={number},c=3,r=2,m=1;");
    assert!(drawing.preamble.starts_with(&start), "{}", drawing.preamble);
    assert!(drawing.preamble.ends_with("\x1b\x1b\\\x1b\\"));
    // Only doubled escapes pass through.
    let inner = drawing
        .preamble
        .replace("\x1bPtmux;", "")
        .replace("\x1b\x1b", "");
    assert_eq!(inner.matches('\x1b').count(), 2);
    let shown = drawing.sequence.replace('\u{10eeee}', "#");
    assert!(
        shown.starts_with("\x1b7\x1b[38;5;16m#\u{305}\u{305}"),
        "{shown:?}"
    );
    let rows: Vec<&str> = shown.split("\r\n").collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1].matches("#\u{30d}").count(), 3);
    assert!(rows[1].contains("#\u{30d}\u{30e}"));
}

#[test]
fn image_numbers_differ_and_fit_into_marks() {
    for process in [0, 1, 62, 63, 64, 4_711, u32::MAX] {
        for image in [0, 1, 254, 255, u32::MAX] {
            let number = number(process, image);
            assert!(
                (1..placeholder::MARK_COUNT).contains(&(number >> 24)),
                "{number:x}"
            );
            assert_eq!(number & 0x00ff_ff00, 0, "{number:x}");
            assert!(number & 0xff >= 16, "{number:x}");
        }
    }
    assert_ne!(number(1, 1), number(1, 2));
    assert_ne!(number(1, 1), number(2, 1));
}

#[test]
fn the_environment_determines_how_images_are_shown() {
    let detect = |entries: &[(&str, &str)]| {
        ImageEnvironment::detect(|name| {
            let entry = entries.iter().find(|(known, _)| *known == name);
            entry.map(|(_, value)| (*value).to_owned())
        })
    };
    assert_eq!(
        detect(&[("TERM", "xterm-256color")]),
        ImageEnvironment::Terminal
    );
    let kitty = ImageEnvironment::Known(Protocol::Kitty);
    assert_eq!(detect(&[("TERM", "xterm-kitty")]), kitty);
    let iterm = ImageEnvironment::Known(Protocol::Iterm);
    assert_eq!(detect(&[("TERM_PROGRAM", "iTerm.app")]), iterm);
    let in_tmux = [("TERM", "xterm-kitty"), ("TMUX", "/tmp/x")];
    assert_eq!(detect(&in_tmux), ImageEnvironment::Tmux);
    let in_screen = [("TERM", "xterm-kitty"), ("STY", "1.x")];
    assert_eq!(detect(&in_screen), ImageEnvironment::Blocked);
}

#[test]
fn kitty_is_reached_through_tmux_if_passthrough_is_on() {
    let placeholders = Some(Protocol::Placeholders);
    assert_eq!(protocol_in_tmux("on\txterm-kitty\t\n"), placeholders);
    assert_eq!(
        protocol_in_tmux("all\txterm-256color\tkitty(0.38.0)\n"),
        placeholders
    );
    assert_eq!(
        protocol_in_tmux("on\txterm-ghostty\tghostty 1.1\n"),
        placeholders
    );
    assert_eq!(protocol_in_tmux("off\txterm-kitty\tkitty(0.38.0)\n"), None);
    assert_eq!(protocol_in_tmux("on\txterm-256color\tfoot(1.16)\n"), None);
    assert_eq!(protocol_in_tmux(""), None);
}
