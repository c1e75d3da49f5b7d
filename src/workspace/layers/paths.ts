import { join } from 'node:path';

/** Where a home keeps the layers of its runs: a directory for each run. */
export const layersDir = (home: string): string => join(home, 'layers');
