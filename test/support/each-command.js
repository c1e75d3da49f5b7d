/**
 * Runs command lines of the built `emend` one after the other in this process, as whoever may not write to the home, and prints what
 * each said: JSON `[{args, code, out, err}]`. argv[2]: JSON `{uid, lines}`; `uid` null: as the user that it is.
 */
import pc from 'picocolors';
import { main } from '../../dist/src/cli/main.js';

const { uid, lines } = JSON.parse(process.argv[2]);
if (uid !== null) {
  process.setgroups([]);
  process.setgid(uid);
  process.setuid(uid);
}
const said = [];
for (const args of lines) {
  let out = '';
  let err = '';
  const io = {
    env: process.env,
    cwd: process.cwd(),
    isTty: false,
    outIsTty: false,
    columns: 80,
    colors: pc.createColors(false),
    write: (text) => void (out += text),
    out: (text) => void (out += `${text}\n`),
    err: (text) => void (err += `${text}\n`),
    ask: () => Promise.resolve(null),
    onInterrupt: () => () => undefined,
    exitNow: () => undefined,
  };
  said.push({ args, code: await main(args, io), out, err });
}
process.stdout.write(JSON.stringify(said), () => process.exit(0));
