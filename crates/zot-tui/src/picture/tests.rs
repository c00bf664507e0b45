use super::*;

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    file.extend(width.to_be_bytes());
    file.extend(height.to_be_bytes());
    file.extend([8, 6, 0, 0, 0]);
    file.resize(6_000, 0);
    file
}

#[test]
fn sizes_are_read() {
    assert_eq!(size::of(&png(640, 480)), Some((640, 480)));
    assert_eq!(size::of(b"GIF89a\x10\x00\x20\x00"), Some((16, 32)));
    let jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08\x00\x20\x00\x10\x01\x01\x11\x00";
    assert_eq!(size::of(jpeg), Some((16, 32)));
    let mut webp = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0".to_vec();
    webp.extend([15, 0, 0, 31, 0, 0]);
    assert_eq!(size::of(&webp), Some((16, 32)));
    // Whatever is cut off is no picture, and no panic.
    for file in [png(1, 1), jpeg.to_vec(), webp] {
        for end in 0..file.len().min(40) {
            let _ = size::of(&file[..end]);
        }
    }
}

#[test]
fn a_picture_fits_and_keeps_its_shape() {
    let easel = Easel {
        protocol: Protocol::Iterm,
        cell: Some((10, 20)),
    };
    assert_eq!(easel.fit(100, 100, 80, 24), Some((10, 5)));
    assert_eq!(easel.fit(4_000, 1_000, 80, 24), Some((60, 8)));
    assert_eq!(easel.fit(1_000, 4_000, 80, 10), Some((5, 10)));
    assert_eq!(easel.fit(1, 1, 80, 24), Some((1, 1)));
}

#[test]
fn kitty_gets_chunks_and_takes_png_only() {
    let easel = Easel {
        protocol: Protocol::Kitty,
        cell: Some((10, 20)),
    };
    let drawing = easel.draw(&png(100, 100), 80, 24).unwrap();
    assert_eq!(drawing.rows, 5);
    assert!(
        drawing
            .sequence
            .starts_with("\x1b_Ga=T,f=100,q=2,C=1,c=10,r=5,m=1;")
    );
    assert_eq!(drawing.sequence.matches("\x1b_G").count(), 2);
    assert!(drawing.sequence.contains("\x1b_Gm=0;"));
    assert_eq!(easel.draw(b"GIF89a\x10\x00\x20\x00", 80, 24), None);
    assert_eq!(easel.draw(b"no picture", 80, 24), None);
}

#[test]
fn the_environment_says_what_the_terminal_can() {
    let detect = |entries: &[(&str, &str)]| {
        Protocol::detect(|name| {
            let entry = entries.iter().find(|(known, _)| *known == name);
            entry.map(|(_, value)| (*value).to_owned())
        })
    };
    assert_eq!(detect(&[("TERM", "xterm-256color")]), None);
    assert_eq!(detect(&[("TERM", "xterm-kitty")]), Some(Protocol::Kitty));
    assert_eq!(
        detect(&[("TERM_PROGRAM", "iTerm.app")]),
        Some(Protocol::Iterm)
    );
    let in_tmux = [("TERM", "xterm-kitty"), ("TMUX", "/tmp/x")];
    assert_eq!(detect(&in_tmux), None);
}
