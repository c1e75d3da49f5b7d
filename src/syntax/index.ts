/** Entry point of src/syntax, which makes syntax trees for the edit engine: `applyAnswer({ …, options: { syntax: await loadSyntax(paths) } })`. */
export { dataLanguageOf } from './data/index.js';
export { languageOf } from './languages.js';
export { loadSyntax } from './load.js';
