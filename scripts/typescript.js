/** `node --import ./scripts/typescript.js FILE.ts` runs TypeScript as it stands: development commands need no build of their own. */
import { register } from 'node:module';

register('./typescript-hooks.js', import.meta.url);
