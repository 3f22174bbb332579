/* A process that records nothing itself, and a forked child that makes one mark.
 *
 * link: pipescope-record */
#include <pipescope/record.h>

#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    pid_t child = fork();
    if (child == 0) {
        ps_record_mark(NULL, "of the child", NULL);
        return 0;
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child ? status : 1;
}
