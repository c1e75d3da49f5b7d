/** `node scripts/cluster/control.js STATE_FILE ACTION`: what a test does to the cluster that `npm run test:cluster` started. */
import { control } from './cluster.js';

const [file, action] = process.argv.slice(2);
await control(file, action);
process.exit(0);
