// node build.mjs           web/dist anew: what is compiled into the program
// node build.mjs --check   fails when web/dist is not what the sources give
// node build.mjs --tests   bundles web/test into web/build/test for node's test runner
import { readFileSync, mkdirSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
process.chdir(here);

const page = {
  entryPoints: {
    pipeline: "src/pipeline/main.ts",
    viewer: "src/app/main.tsx",
    index: "src/index.html",
  },
  loader: { ".html": "copy" },
  outdir: "dist",
  bundle: true,
  minify: true,
  charset: "ascii", // the same bytes whatever a server says about encodings
  format: "iife",
  target: ["es2020"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  write: false,
};

if (process.argv.includes("--tests")) {
  const tests = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
  await build({
    entryPoints: tests.map((name) => join("test", name)),
    outdir: "build/test",
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: ["node18"],
    logLevel: "warning",
  });
} else {
  const { outputFiles } = await build(page);
  let stale = 0;
  mkdirSync("dist", { recursive: true });
  for (const file of outputFiles) {
    if (!file.path.endsWith(".html") && /<\/(script|style)/i.test(file.text)) {
      throw new Error(`${file.path}: would end the element that it is put into`);
    }
    if (!process.argv.includes("--check")) {
      const { writeFileSync } = await import("node:fs");
      writeFileSync(file.path, file.contents);
      continue;
    }
    let committed = null;
    try {
      committed = readFileSync(file.path);
    } catch {
      // as good as different
    }
    if (committed === null || Buffer.compare(committed, Buffer.from(file.contents)) !== 0) {
      console.error(
        `${file.path.slice(here.length + 1)} is not what the sources give: run ./dev web`,
      );
      stale++;
    }
  }
  process.exitCode = stale > 0 ? 1 : 0;
}
