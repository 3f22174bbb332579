/** Signs of buttons, drawn on 16 x 16 with the ink around them. */
const PATHS = {
  up: "M8 4l4 6H4z",
  down: "M8 12L4 6h8z",
  right: "M6 4l5 4-5 4z",
  filter: "M2.5 3.5h11l-4.25 5v4.25l-2.5-1.25V8.5z",
  columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  copy: "M5.5 5.5h7.5v7.5H5.5zM10.5 5.5V3H3v7.500h2.500",
  save: "M8 2.500v7.500M4.750 7L8 10.250 11.250 7M3 13h10",
  jump: "M6 3H3v10h10v-3M9 3h4v4M13 3L7.500 8.500",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.500v1.800M8 12.700v1.800M1.500 8h1.800M12.700 8h1.800M3.400 3.400l1.300 1.300M11.300 11.300l1.300 1.300M3.400 12.600l1.300-1.300M11.300 4.700l1.300-1.300",
  moon: "M13 9.500A5.500 5.500 0 1 1 6.500 3a4.500 4.500 0 0 0 6.500 6.500z",
  screen: "M2.500 3h11v7.500h-11zM6 13h4M8 10.500V13",
  help: "M5.800 6.200a2.200 2.200 0 1 1 3.200 2c-.7.400-1 .8-1 1.600M8 12.200v.3",
  settings:
    "M2.500 4.500h6M11.500 4.500h2M10 3v3M2.500 8h2M7.500 8h6M6 6.500v3M2.500 11.500h5M10.500 11.500h3M9 10v3",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1 1H3zM6.800 13.500h2.400",
  command: "M3 4.500l3 3-3 3M8 11h5",
  close: "M4 4l8 8M12 4l-8 8",
  menu: "M3 4.500h10M3 8h10M3 11.500h10",
  check: "M3.500 8.500l3 3 6-7",
  bookmark: "M4.500 2.500h7v11L8 10.500l-3.500 3z",
  play: "M5 3.500l7 4.500-7 4.500z",
  reset: "M3.500 8a4.500 4.500 0 1 0 1.500-3.400M5 2.500v2.500h2.500",
} as const;

export type IconName = keyof typeof PATHS;

const SOLID: ReadonlySet<IconName> = new Set(["up", "down", "right", "play"]);

export function Icon({ name }: { name: IconName }) {
  const solid = SOLID.has(name);
  return (
    <svg class="icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path
        d={PATHS[name]}
        fill={solid ? "currentColor" : "none"}
        stroke={solid ? "none" : "currentColor"}
        stroke-width="1.25"
        stroke-linejoin="round"
        stroke-linecap="round"
      />
    </svg>
  );
}
