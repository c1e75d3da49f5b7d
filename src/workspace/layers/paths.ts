import { homePaths } from '../../stores/home.js';

/** Where a home keeps the layers of its runs: a directory for each run. */
export const layersDir = (home: string): string => homePaths(home).layers;
