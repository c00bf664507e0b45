// Makes screenshots smaller: at most 256 colours, which is hardly visible on a page with few colours.

import { deflateSync, inflateSync, crc32 } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MAX_COLOURS = 256;
/** How many of the most common colours stay exact. */
const KEPT_COLOURS = 80;

/** The image with a palette; unchanged if it is not one that a browser writes. */
export function shrink(png) {
  const { width, height, channels, pixels } = decode(png);
  const counts = new Map();
  for (let at = 0; at < pixels.length; at += channels) {
    const colour = (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = choosePalette(counts);
  const nearest = new Map();
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = (y * width + x) * channels;
      const colour = (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
      if (!nearest.has(colour)) nearest.set(colour, closest(palette, colour));
      rows[y * (width + 1) + 1 + x] = nearest.get(colour);
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 8;
  head[9] = 3;
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  const smaller = Buffer.concat([SIGNATURE, chunk('IHDR', head), chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })), chunk('IEND', Buffer.alloc(0))]);
  return smaller.length < png.length ? smaller : png;
}

/** The most common colours; the others are split at the middle of their widest channel until there are enough boxes. */
function choosePalette(counts) {
  const common = [...counts.keys()].sort((one, other) => counts.get(other) - counts.get(one));
  const kept = common.splice(0, KEPT_COLOURS);
  let boxes = [common];
  while (boxes.length < MAX_COLOURS - KEPT_COLOURS) {
    const ranked = boxes.filter((box) => box.length > 1).map((box) => ({ box, ...widest(box) }));
    if (ranked.length === 0) break;
    ranked.sort((one, other) => other.range - one.range);
    const { box, shift } = ranked[0];
    box.sort((one, other) => ((one >> shift) & 255) - ((other >> shift) & 255));
    boxes = boxes.filter((one) => one !== box);
    boxes.push(box.slice(0, box.length >> 1), box.slice(box.length >> 1));
  }
  const others = boxes.filter((box) => box.length > 0);
  // The most common colour represents its box.
  return kept.concat(others.map((box) => box.reduce((best, colour) => (counts.get(colour) > counts.get(best) ? colour : best))));
}

function widest(box) {
  let best = { range: -1, shift: 0 };
  for (const shift of [16, 8, 0]) {
    let low = 255;
    let high = 0;
    for (const colour of box) {
      const value = (colour >> shift) & 255;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    if (high - low > best.range) best = { range: high - low, shift };
  }
  return best;
}

function closest(palette, colour) {
  let best = 0;
  let distance = Infinity;
  palette.forEach((other, index) => {
    const r = (colour >> 16) - (other >> 16);
    const g = ((colour >> 8) & 255) - ((other >> 8) & 255);
    const b = (colour & 255) - (other & 255);
    const far = r * r + g * g + b * b;
    if (far < distance) {
      distance = far;
      best = index;
    }
  });
  return best;
}

/** The pixels of an 8-bit PNG without interlacing, which is what browsers write. */
function decode(png) {
  let at = SIGNATURE.length;
  let head = null;
  const parts = [];
  while (at < png.length) {
    const length = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + length);
    if (type === 'IHDR') head = data;
    if (type === 'IDAT') parts.push(data);
    at += length + 12;
  }
  const width = head.readUInt32BE(0);
  const height = head.readUInt32BE(4);
  const channels = { 2: 3, 6: 4 }[head[9]];
  if (head[8] !== 8 || !channels || head[12] !== 0) throw new Error('not a screenshot');
  const raw = inflateSync(Buffer.concat(parts));
  const stride = width * channels;
  const pixels = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (stride + 1)];
    for (let x = 0; x < stride; x += 1) {
      const value = raw[y * (stride + 1) + 1 + x];
      const left = x >= channels ? pixels[y * stride + x - channels] : 0;
      const up = y > 0 ? pixels[(y - 1) * stride + x] : 0;
      const corner = x >= channels && y > 0 ? pixels[(y - 1) * stride + x - channels] : 0;
      pixels[y * stride + x] = value + [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
    }
  }
  return { width, height, channels, pixels };
}

function paeth(left, up, corner) {
  const guess = left + up - corner;
  const [byLeft, byUp, byCorner] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (byLeft <= byUp && byLeft <= byCorner) return left;
  return byUp <= byCorner ? up : corner;
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}
