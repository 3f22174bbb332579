/* The program: everything is in cli.c and the commands. */
#include "cli/cli.h"

int main(int argc, char **argv) {
    return ps_cli_main(argc, argv, NULL);
}
