/** Runs every check beside it; the first that fails ends it. */
const { readdirSync } = require('node:fs');

for (const name of readdirSync(__dirname).sort()) if (name.endsWith('.check.cjs')) require(`./${name}`);
