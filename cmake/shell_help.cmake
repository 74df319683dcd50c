# Completions and the manual are said by the program itself, so they cannot fall behind it.
function(dlo_install_said arguments directory file)
  install(CODE "
    set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${directory}\")
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND $<TARGET_FILE:dlo> ${arguments} OUTPUT_FILE \"\${folder}/${file}\"
                    COMMAND_ERROR_IS_FATAL ANY)
    message(STATUS \"Installing: \${folder}/${file}\")
  " COMPONENT shell_help)
endfunction()

if(TARGET dlo)
  dlo_install_said("man" ${CMAKE_INSTALL_MANDIR}/man1 dlo.1)
  dlo_install_said("completion bash" ${CMAKE_INSTALL_DATADIR}/bash-completion/completions dlo)
  dlo_install_said("completion zsh" ${CMAKE_INSTALL_DATADIR}/zsh/site-functions _dlo)
  dlo_install_said("completion fish" ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d dlo.fish)
endif()
