/** `emend doctor --deep`: compares every file of the home and the store with its hash or checksum. */
import { verifyFiles, type DamagedFile } from '../../client/files/verify.js';
import { shownKey } from '../../shared/ids.js';
import { EXIT, type ExitCode } from '../../shared/problems.js';
import type { Io, JsonFlag } from '../io.js';
import { printFound } from '../json.js';
import { count, plain } from '../render/text.js';
import { withEmend } from '../session.js';

/** Exit code 7 if a file is damaged or missing, as for other checks of `emend doctor`. */
export const doctorDeep = (io: Io, flags: JsonFlag): Promise<ExitCode> =>
  withEmend(io, async (emend) => {
    const { files, bytes, damaged } = await verifyFiles(emend);
    const total = `${count(files, 'file')}, ${count(bytes, 'byte')}`;
    const lines =
      damaged.length === 0
        ? [`ok       every file matches its hash or checksum (${total})`]
        : [
            ...damaged.flatMap((file) => linesOf(io, file)),
            `${count(damaged.length, 'damaged or missing file')} of ${total}`,
          ];
    const found = { v: 1 as const, files, bytes, damaged };
    printFound({ io, flags }, 'doctor --deep', found, lines);
    return damaged.length === 0 ? EXIT.done : EXIT.unavailable;
  });

const linesOf = (io: Io, { path, run, fault, effect, fix }: DamagedFile): readonly string[] => {
  const owner = run === null ? '' : ` (run ${shownKey(run)})`;
  return [
    `damaged  ${plain(path)}${owner}: ${plain(fault)}. ${effect}`,
    `           ${io.colors.bold(plain(fix))}`,
  ];
};
