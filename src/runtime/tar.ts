/** Reads tar archives (ustar): as much of the format as the archives of `@sparticuz/chromium` use. */
import { InputError } from '../errors.ts';

export interface TarFile {
  /** Relative to where the archive is unpacked, with forward slashes. */
  readonly path: string;
  readonly executable: boolean;
  readonly bytes: Uint8Array;
}

const BLOCK_BYTES = 512;
const REGULAR_FILE = ['0', '\0'];
const DIRECTORY = '5';

/** The regular files of an archive. Throws `InputError` on any other kind of entry, and on paths that lead outside. */
export function readTar(archive: Uint8Array): TarFile[] {
  const files: TarFile[] = [];
  let at = 0;
  while (at + BLOCK_BYTES <= archive.length) {
    const header = archive.subarray(at, at + BLOCK_BYTES);
    // The end is marked by blocks of zeros.
    if (header[0] === 0) break;
    const text = (start: number, length: number) =>
      new TextDecoder().decode(header.subarray(start, start + length)).replace(/\0.*$/s, '');
    const octal = (start: number, length: number) => Number.parseInt(text(start, length).trim() || '0', 8);

    const prefix = text(345, 155);
    const path = prefix === '' ? text(0, 100) : `${prefix}/${text(0, 100)}`;
    const type = String.fromCharCode(header[156]);
    const sizeBytes = octal(124, 12);
    const end = at + BLOCK_BYTES + sizeBytes;
    if (!REGULAR_FILE.includes(type) && type !== DIRECTORY) {
      throw new InputError(
        `tar entry ${path} has type ${JSON.stringify(type)}; only files and folders are read`,
      );
    }
    if (path.startsWith('/') || path.split('/').includes('..')) {
      throw new InputError(
        `tar entry ${path} leads outside the folder it is unpacked into; the archive is not used`,
      );
    }
    if (!(end <= archive.length)) {
      throw new InputError(
        `tar entry ${path} ends at byte ${end} of ${archive.length}; the archive is cut off`,
      );
    }
    if (type !== DIRECTORY) {
      const bytes = archive.subarray(at + BLOCK_BYTES, end);
      files.push({ path, executable: (octal(100, 8) & 0o100) !== 0, bytes });
    }
    at += BLOCK_BYTES + Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES;
  }
  return files;
}
