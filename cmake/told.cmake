# What the program tells of itself, for an installation: -DPROGRAM=<command line> -DVERBS=<commands> -DOUT=<folder>.
# Leaves man1/*.1, pipescope.{bash,zsh,fish} and stamp.
function(tell file)
  execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_FILE ${OUT}/${file} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${PROGRAM} ${ARGN}: ${status}")
  endif()
endfunction()

file(REMOVE_RECURSE ${OUT})
file(MAKE_DIRECTORY ${OUT}/man1)
tell(man1/pipescope.1 help --man)
foreach(verb ${VERBS})
  tell(man1/pipescope-${verb}.1 help ${verb} --man)
endforeach()
foreach(shell bash zsh fish)
  tell(pipescope.${shell} auto-completion ${shell})
endforeach()
file(TOUCH ${OUT}/stamp)
