/* pipescope-mpi: the program with the processes of an MPI job behind it.
 *
 *   mpirun -n 64 pipescope-mpi cluster -m every -d DIR -o OUT
 *
 * The first process is the program; all of them, that one too, have a worker, which reads ranks. */
#include <mpi.h>
#include <stdio.h>

#include "cli/cli.h"
#include "mpi/mpi_port.h"

static int run_program(ps_mpi_port *port, int argc, char **argv) {
    ps_crew *crew = ps_crew_new(ps_mpi_crew_port(port));
    int status = PS_EXIT_FAILED;
    if (crew != NULL) {
        status = ps_cli_main(argc, argv, ps_crew_engine(crew));
    } else {
        (void)fprintf(stderr, "pipescope: out of memory\n");
    }
    ps_crew_free(crew);
    return status;
}

int main(int argc, char **argv) {
    ps_err err = PS_ERR_INIT;
    int level = 0;
    ps_mpi_port *port = ps_mpi_port_new();
    if (port == NULL) {
        return PS_EXIT_FAILED;
    }
    /* The line of progress is a thread, which does not call MPI. */
    (void)MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    ps_code code = ps_mpi_port_begin(port, &err);
    int status = PS_EXIT_OK;
    if (code == PS_OK && ps_mpi_port_is_first(port)) {
        status = run_program(port, argc, argv);
    } else if (code == PS_OK) {
        code = ps_mpi_port_relay(port, &err);
    }
    if (code != PS_OK) { /* the others would wait for it */
        (void)fprintf(stderr, "pipescope: %s\n", err.msg);
        (void)MPI_Abort(MPI_COMM_WORLD, PS_EXIT_FAILED);
    }
    ps_mpi_port_free(port);
    (void)MPI_Finalize();
    return status;
}
