//! Decodes sixels as a terminal does.

pub(super) struct Image {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) colours: usize,
    pixels: Vec<Option<[u8; 3]>>,
}

impl Image {
    pub(super) fn at(&self, column: usize, row: usize) -> Option<[u8; 3]> {
        self.pixels[row * self.width + column]
    }
}

/// Decodes a drawing and panics if it is malformed.
pub(super) fn parse(drawing: &str) -> Image {
    let body = drawing.strip_prefix("\x1b7\x1bP0;1;0q\"1;1;").unwrap();
    let body = body.strip_suffix("\x1b\\\x1b8").unwrap();
    let mut bytes = body.bytes().peekable();
    let width = number(&mut bytes);
    assert_eq!(bytes.next(), Some(b';'));
    let height = number(&mut bytes);
    let mut registers = vec![None; 256];
    let mut pixels = vec![None; width * height];
    let (mut column, mut top, mut register) = (0, 0, 0);
    while let Some(byte) = bytes.next() {
        let (count, sixel) = match byte {
            b'#' => {
                register = number(&mut bytes);
                if bytes.next_if_eq(&b';').is_some() {
                    assert_eq!(number(&mut bytes), 2);
                    registers[register] = Some([0; 3].map(|_: u8| {
                        assert_eq!(bytes.next(), Some(b';'));
                        let percent = number(&mut bytes);
                        assert!(percent <= 100);
                        u8::try_from(percent * 255 / 100).unwrap()
                    }));
                }
                continue;
            }
            b'$' => {
                column = 0;
                continue;
            }
            b'-' => {
                (column, top) = (0, top + 6);
                continue;
            }
            b'!' => (number(&mut bytes), bytes.next().unwrap()),
            sixel => (1, sixel),
        };
        assert!((b'?'..=b'~').contains(&sixel), "{sixel}");
        for _ in 0..count {
            for row in 0..6 {
                if (sixel - b'?') >> row & 1 == 1 {
                    assert!(column < width && top + row < height);
                    let pixel = &mut pixels[(top + row) * width + column];
                    assert_eq!(*pixel, None, "drawn twice");
                    *pixel = Some(registers[register].unwrap());
                }
            }
            column += 1;
        }
    }
    Image {
        width,
        height,
        colours: registers.iter().flatten().count(),
        pixels,
    }
}

fn number(bytes: &mut std::iter::Peekable<std::str::Bytes<'_>>) -> usize {
    let mut value = 0;
    while let Some(digit) = bytes.next_if(u8::is_ascii_digit) {
        value = value * 10 + usize::from(digit - b'0');
    }
    value
}

#[track_caller]
pub(super) fn assert_near(colour: [u8; 3], expected: [u8; 3], tolerance: u8, what: &str) {
    let mut parts = colour.iter().zip(expected);
    let is_near = parts.all(|(part, expected)| part.abs_diff(expected) <= tolerance);
    assert!(is_near, "{what}: {colour:?} is not near {expected:?}");
}
